// Dependencies of all key operations; module.ts creates them once.
import type { CatalogCopy } from "@gr/clients";
import type { BillingService } from "@gr/proto/billing";
import type { BudgetService } from "@gr/proto/budgets";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { KeyEvents } from "../events.ts";
import type { DigestOf, UnknownDigests } from "../records/key-digest.ts";
import type { Revocations } from "../records/revocations.ts";
import type { KeyStore } from "../records/store.ts";
import type { WebTokens } from "./web-token.ts";

export interface KeyDeps {
  readonly store: KeyStore;
  readonly billing: ServiceClient<typeof BillingService>;
  readonly budgets: ServiceClient<typeof BudgetService>;
  readonly catalog: Pick<CatalogCopy, "models">;
  readonly clock: Clock;
  readonly digestOf: DigestOf;
  /** Digest under the other pepper, during a change of the pepper. */
  readonly otherDigestOf: DigestOf | undefined;
  readonly unknownDigests: UnknownDigests;
  /** Undefined without a key to sign them: no web token is issued or valid then. */
  readonly webTokens: WebTokens | undefined;
  readonly revocations: Revocations;
  readonly events: KeyEvents;
  /** Most keys of one account, of both kinds, without deleted ones. */
  readonly mostKeys: number;
}
