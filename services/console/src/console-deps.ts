// Dependencies of all console handlers; module.ts creates them once.
import type { ActivityService } from "@gr/proto/activity";
import type { BillingReportService, BillingService } from "@gr/proto/billing";
import type { BudgetService } from "@gr/proto/budgets";
import type { CatalogOperatorService, CatalogService } from "@gr/proto/catalog";
import type { KeysService } from "@gr/proto/keys";
import type { MediaGenerationService } from "@gr/proto/media";
import type { RouteHealthService } from "@gr/proto/routes";
import type { SavedTextService } from "@gr/proto/saved-texts";
import type { WebhookService } from "@gr/proto/webhooks";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { KeyMembers } from "./activity/key-members.ts";
import type { AlertStore } from "./alerts/alert-store.ts";
import type { ConsoleConfig } from "./config.ts";
import type { Attempts } from "./door/attempts.ts";
import type { ConsoleEvents } from "./events.ts";
import type { Links } from "./mail/links.ts";
import type { Mailer } from "./mail/mailer.ts";
import type { Accounts } from "./operators/accounts.ts";
import type { OperatorStore } from "./operators/operator-store.ts";
import type { PaymentStore } from "./payments/payment-store.ts";
import type { SettlePayments } from "./payments/settle-payment.ts";
import type { Stripe } from "./payments/stripe.ts";
import type { People } from "./people/people.ts";
import type { Challenges } from "./sign-in/challenges.ts";
import type { Issuer } from "./sign-in/issuer.ts";
import type { PasskeyStore } from "./sign-in/passkey-store.ts";
import type { Passkeys } from "./sign-in/passkeys.ts";
import type { SignInStore } from "./sign-in/sign-in-store.ts";
import type { ComparisonStore } from "./statements/comparison-store.ts";
import type { Reconcile } from "./statements/reconcile.ts";
import type { Statement } from "./statements/statement-config.ts";
import type { ConsoleStore } from "./store.ts";
import type { AutoTopUpStore } from "./top-ups/auto-top-up-store.ts";
import type { Payers } from "./top-ups/payers.ts";

export interface ConsoleDeps {
  readonly config: ConsoleConfig;
  readonly store: ConsoleStore;
  readonly operators: OperatorStore;
  readonly accounts: Accounts;
  readonly people: People;
  readonly attempts: Attempts;
  readonly mailer: Mailer;
  readonly links: Links;
  readonly keys: ServiceClient<typeof KeysService>;
  readonly billing: ServiceClient<typeof BillingService>;
  readonly budgets: ServiceClient<typeof BudgetService>;
  readonly reports: ServiceClient<typeof BillingReportService>;
  readonly activity: ServiceClient<typeof ActivityService>;
  readonly savedTexts: ServiceClient<typeof SavedTextService>;
  readonly keyMembers: KeyMembers;
  readonly media: ServiceClient<typeof MediaGenerationService>;
  readonly catalog: ServiceClient<typeof CatalogService>;
  readonly catalogOperator: ServiceClient<typeof CatalogOperatorService>;
  readonly routeHealth: ServiceClient<typeof RouteHealthService>;
  readonly signIns: SignInStore;
  readonly challenges: Challenges;
  /** Undefined if people sign in here only. */
  readonly issuer: Issuer | undefined;
  /** Undefined if passkeys are switched off. */
  readonly passkeys: Passkeys | undefined;
  readonly passkeyStore: PasskeyStore;
  readonly payments: PaymentStore;
  /** Undefined without payments, as `settling` is. */
  readonly stripe: Stripe | undefined;
  readonly settling: SettlePayments | undefined;
  readonly payers: Payers;
  readonly topUps: AutoTopUpStore;
  readonly statements: readonly Statement[];
  readonly reconcile: Reconcile;
  readonly comparisons: ComparisonStore;
  readonly alerts: AlertStore;
  readonly webhooks: ServiceClient<typeof WebhookService>;
  readonly events: ConsoleEvents;
  readonly clock: Clock;
}
