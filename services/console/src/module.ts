// The console module: opens its schema, then serves the web application's API through the gateway, and operators over RPC.
import { join } from "node:path";
import { ActivityService } from "@gr/proto/activity";
import { BillingReportService, BillingService, TextLogService } from "@gr/proto/billing";
import { BudgetService } from "@gr/proto/budgets";
import { CatalogOperatorService, CatalogService } from "@gr/proto/catalog";
import { KeysService } from "@gr/proto/keys";
import { MediaGenerationService } from "@gr/proto/media";
import { RouteHealthService } from "@gr/proto/routes";
import { SavedTextService } from "@gr/proto/saved-texts";
import { WebhookService } from "@gr/proto/webhooks";
import { createReadyCheck, defineModule, openPool, startRounds } from "@gr/runtime";
import { createKeyMemberStore } from "./activity/key-member-store.ts";
import { createKeyMembers } from "./activity/key-members.ts";
import { createAlertChecks } from "./alerts/alert-checks.ts";
import { createAlertDeliveries } from "./alerts/alert-deliveries.ts";
import { createAlertStore } from "./alerts/alert-store.ts";
import { createReadAccount } from "./alerts/read-account.ts";
import { consoleConfig } from "./config.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { createAttempts } from "./door/attempts.ts";
import { RunningWork } from "./door/running-work.ts";
import { createConsoleEvents } from "./events.ts";
import { linksTo } from "./mail/links.ts";
import { createMailer } from "./mail/mailer.ts";
import { terminal } from "./mail/terminal.ts";
import { createAccounts } from "./operators/accounts.ts";
import { createOperatorStore } from "./operators/operator-store.ts";
import { createPaymentStore } from "./payments/payment-store.ts";
import { createSettlePayments } from "./payments/settle-payment.ts";
import { createStripe } from "./payments/stripe.ts";
import { createPeople } from "./people/people.ts";
import { consoleRest } from "./rest.ts";
import { consoleRpc } from "./rpc.ts";
import { createChallenges } from "./sign-in/challenges.ts";
import { createIssuer } from "./sign-in/issuer.ts";
import { createPasskeyStore } from "./sign-in/passkey-store.ts";
import { createPasskeys } from "./sign-in/passkeys.ts";
import { createSignInStore } from "./sign-in/sign-in-store.ts";
import { createComparisonStore } from "./statements/comparison-store.ts";
import { createDailyComparisons } from "./statements/daily-comparisons.ts";
import { createReconcile } from "./statements/reconcile.ts";
import { statementsOf } from "./statements/statement-config.ts";
import { createConsoleStore } from "./store.ts";
import { createAutoTopUpStore } from "./top-ups/auto-top-up-store.ts";
import { createAutoTopUps } from "./top-ups/auto-top-ups.ts";
import { invoiceCharges } from "./top-ups/invoice-charges.ts";
import { createPayerStore } from "./top-ups/payer-store.ts";
import { createPayers } from "./top-ups/payers.ts";

const READY_FOR_MS = 1_000;
const SWEEP_EVERY_MS = 600_000;
/** Interval at which a process searches for due alerts. */
const ALERTS_EVERY_MS = 5_000;
/** Time between two checks of the balance of an account with automatic top-ups. */
const TOP_UPS_EVERY_MS = 15_000;
/** History of alerts. */
const ALERTS_KEPT_MS = 90 * 24 * 3_600_000;
/** Interval at which a process searches for due statements. */
const COMPARE_EVERY_MS = 600_000;

const schema = { name: "console", migrations: join(import.meta.dirname, "../migrations") };

export const consoleModule = defineModule({
  name: "console",
  needs: ["keys", "billing", "catalog", "media-generation"],
  config: consoleConfig,
  schema,
  async create({ config, log, clock, metrics, dial }) {
    const pool = await openPool(config, schema, log);
    const store = createConsoleStore(pool);
    const mailer = createMailer(config, { log, terminal });
    const links = linksTo(config.CONSOLE_URL);
    const payments = createPaymentStore(pool);
    const stripe = createStripe(config, clock);
    const signIns = createSignInStore(pool);
    const billing = dial("billing", BillingService);
    const catalog = dial("catalog", CatalogService);
    const statements = statementsOf(config);
    const readable = statements.flatMap(({ name, reader }) => (reader === undefined ? [] : [name]));
    const events = createConsoleEvents(log, metrics, readable);
    const issuer = createIssuer({ config, events, clock });
    const settling = stripe && createSettlePayments({ stripe, payments, billing, events, clock });
    const reports = dial("billing", BillingReportService);
    const activity = dial("billing", ActivityService);
    const tolerance = { usd: config.STATEMENT_TOLERANCE_USD, percent: config.STATEMENT_TOLERANCE_PERCENT };
    const reconcile = createReconcile({ statements, tolerance, reports, clock });
    const comparisons = createComparisonStore(pool);
    const daily = createDailyComparisons({ statements, reconcile, comparisons, events, clock });
    const operators = createOperatorStore(pool);
    const keys = dial("keys", KeysService);
    const media = dial("media-generation", MediaGenerationService);
    const texts = dial("billing", TextLogService);
    const budgets = dial("billing", BudgetService);
    const savedTexts = dial("billing", SavedTextService);
    const webhooks = dial("media-generation", WebhookService);
    const attempts = createAttempts(store, clock);
    const alerts = createAlertStore(pool);
    const topUps = createAutoTopUpStore(pool);
    const payers = createPayers({ store: createPayerStore(pool), stripe, accounts: store, clock });
    const everyMs = Math.min(TOP_UPS_EVERY_MS, config.CONSOLE_ALERT_INTERVAL_MS);
    const autoTopUps =
      settling && createAutoTopUps({ topUps, settling, billing, mailer, events, clock, everyMs });
    const checks = createAlertChecks({
      ...{ alerts, events, clock },
      read: createReadAccount({ billing, budgets, texts, media, clock }),
      everyMs: config.CONSOLE_ALERT_INTERVAL_MS,
    });
    const deliveries = createAlertDeliveries({ alerts, mailer, links, attempts, webhooks, events, clock });
    const deps: ConsoleDeps = {
      config,
      store,
      operators,
      accounts: createAccounts({ keys, billing, store, operators, events }),
      people: createPeople({ config, pool, mailer, links, log }),
      attempts,
      mailer,
      links,
      keys,
      billing,
      budgets,
      reports,
      activity,
      savedTexts,
      keyMembers: createKeyMembers({ activity, store: createKeyMemberStore(pool), events }),
      media,
      catalog,
      catalogOperator: dial("catalog", CatalogOperatorService),
      routeHealth: dial("catalog", RouteHealthService),
      signIns,
      challenges: createChallenges(signIns, config.CONSOLE_URL),
      issuer,
      passkeys: createPasskeys(config),
      passkeyStore: createPasskeyStore(pool),
      payments,
      stripe,
      settling,
      payers,
      topUps,
      statements,
      reconcile,
      comparisons,
      alerts,
      webhooks,
      events,
      clock,
    };
    const work = new RunningWork();
    let stopSweeping: (() => Promise<void>) | undefined;
    let stopTopUps: (() => Promise<void>) | undefined;
    let stopAlerts: (() => Promise<void>) | undefined;
    let stopComparing: (() => Promise<void>) | undefined;
    return {
      rpc: [consoleRpc(deps)],
      rest: consoleRest(deps, work),
      start: async () => {
        // In the background: only the log needs the result.
        void issuer?.lookUp();
        stopSweeping = startRounds({
          clock,
          pauseMs: SWEEP_EVERY_MS,
          round: async () => {
            await store.sweep();
            await signIns.sweep();
            await payments.sweep();
            await alerts.sweep(new Date(clock.now() - ALERTS_KEPT_MS));
            await settling?.settleStale();
          },
          failed: (err) => log.warn({ err }, "a round of upkeep was not finished; the next one continues"),
        });
        if (autoTopUps !== undefined && stripe !== undefined) {
          stopTopUps = startRounds({
            clock,
            pauseMs: Math.min(ALERTS_EVERY_MS, everyMs),
            round: async (stopping) => {
              await autoTopUps.runDue(stopping);
              await invoiceCharges({ payments, stripe, clock });
            },
            failed: (err) =>
              log.warn({ err }, "a round of automatic top-ups was not finished; the next one continues"),
          });
        }
        stopAlerts = startRounds({
          clock,
          pauseMs: Math.min(ALERTS_EVERY_MS, config.CONSOLE_ALERT_INTERVAL_MS),
          round: async (stopping) => {
            await checks.checkDue(stopping);
            await deliveries.sendDue(stopping);
          },
          failed: (err) => log.warn({ err }, "a round of alerts was not finished; the next one continues"),
        });
        // Rounds of their own: a slow provider delays no upkeep.
        stopComparing = startRounds({
          clock,
          pauseMs: COMPARE_EVERY_MS,
          round: (stopping) => daily.compareDue(stopping),
          failed: (err) =>
            log.warn({ err }, "a round of comparisons was not finished; the next one continues"),
        });
      },
      ready: createReadyCheck({
        work: () => store.ping(),
        problem: "PostgreSQL does not answer",
        keptMs: READY_FOR_MS,
        clock,
      }),
      stop: async () => {
        await Promise.all([stopSweeping?.(), stopTopUps?.(), stopAlerts?.(), stopComparing?.()]);
        await work.ended();
        mailer.close();
        await pool.end();
      },
    };
  },
});
