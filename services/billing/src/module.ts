// The billing module: opens its schema, then serves money operations over RPC and the balance over REST.
import { join } from "node:path";
import { createReadyCheck, defineModule, openPool, requireSchema, startRounds } from "@gr/runtime";
import { createActivity } from "./activity/activity.ts";
import { budgetRpc } from "./budgets/budget-rpc.ts";
import { billingConfig } from "./config.ts";
import { createBillingEvents } from "./events.ts";
import { billingReportRpc } from "./reports/report-rpc.ts";
import { billingRest } from "./rpc/rest.ts";
import { billingRpc } from "./rpc/rpc.ts";
import { savedTextRpc } from "./saved-texts/saved-text-rpc.ts";
import { createSavedTextStore } from "./saved-texts/saved-text-store.ts";
import { distributeLedger } from "./shards/distribute-store.ts";
import { statementRpc } from "./statements/statement-rpc.ts";
import { createStepLedger } from "./step-ledger/step-ledger.ts";
import { textLogRpc } from "./text-log/text-log-rpc.ts";
import { createTextLogStore } from "./text-log/text-log-store.ts";
import { createMonths } from "./text-log/text-months-store.ts";
import { unsafeSettings } from "./verify/database-health-store.ts";
import { createWindowsCopy } from "./windows-copy/create-windows-copy.ts";
import { ClockCheck } from "./writer/clock-check-store.ts";

/** Milliseconds between two rounds of the followers. */
const FOLLOW_EVERY_MS = 1_000;
/** Milliseconds between two sweeps of expired rows. */
export const SWEEP_EVERY_MS = 300_000;
/** Milliseconds between two counts of open holds. */
const LOOK_EVERY_MS = 15_000;
const READY_FOR_MS = 1_000;
/** A check of the tables reads files and opens a transaction, and tables change rarely. */
const TABLES_FOR_MS = 15_000;
const BYTES_PER_MB = 1024n * 1024n;

const schema = { name: "billing", migrations: join(import.meta.dirname, "../migrations") };

export const billingModule = defineModule({
  name: "billing",
  needs: [],
  config: billingConfig,
  schema,
  async create({ config, log, clock, metrics }) {
    const pool = await openPool(config, schema, log, metrics);
    if (config.LEDGER_DISTRIBUTED) await distributeLedger(pool);
    const events = createBillingEvents(log, metrics, () => ledger.waiting());
    const freeLimit = config.FREE_REQUESTS_PER_DAY === 0 ? null : config.FREE_REQUESTS_PER_DAY;
    const clockCheck = new ClockCheck({ clock, stopwatch: { now: () => performance.now() }, log });
    const windows = await createWindowsCopy({ config, clock, log, events });
    const copies = windows.budgets;
    const ledger = createStepLedger({ pool, clock, freeLimit, log, events, clockCheck, copies });
    const { accounts, reports, holds } = ledger;
    const texts = createTextLogStore(pool, ledger.reader);
    const textDays = config.TEXT_LOG_DAYS;
    const savedBytes = BigInt(config.TEXT_SAVED_ACCOUNT_MB) * BYTES_PER_MB;
    const savedTerms = { days: config.TEXT_SAVED_DAYS, logDays: textDays, mostBytes: savedBytes };
    const savedTexts = createSavedTextStore(pool, savedTerms);
    const activity = createActivity({ pool, accounts, clock, follow: ledger.follow });
    const rounds: (() => Promise<void>)[] = [];
    const answers = createReadyCheck({
      work: () => accounts.ping(),
      problem: "PostgreSQL does not answer",
      keptMs: READY_FOR_MS,
      clock,
    });
    const hasTables = createReadyCheck({
      work: () => requireSchema(pool, schema),
      problem: "The tables cannot be used",
      keptMs: TABLES_FOR_MS,
      clock,
    });
    /** @param problem of a failed round; the next round tries again */
    const repeat = (pauseMs: number, problem: string, round: (stopping: AbortSignal) => Promise<void>) => {
      const failed = (err: unknown) => log.warn({ err }, `${problem}; the next round tries again`);
      rounds.push(startRounds({ clock, pauseMs, round, failed }));
    };
    return {
      rpc: [
        billingRpc({ ...ledger, events }),
        budgetRpc(ledger.budgets),
        billingReportRpc({ reports, accounts }),
        textLogRpc(texts, textDays, clock),
        savedTextRpc(savedTexts, savedBytes, events.textsNotSaved),
        activity.rpc,
        statementRpc(pool, config.STATEMENT_KEY_FILE),
      ],
      rest: { routes: [...billingRest({ accounts, events }).routes, activity.route] },
      start: async () => {
        await windows.warmUp();
        events.mayForget(await unsafeSettings(pool));
        repeat(LOOK_EVERY_MS, "the clock could not be compared with PostgreSQL's", () =>
          clockCheck.compare(pool),
        );
        repeat(FOLLOW_EVERY_MS, "committed steps could not be added to the sums", () => ledger.follow());
        repeat(SWEEP_EVERY_MS, "closed months could not be sealed", (stopping) => ledger.seal(stopping));
        repeat(LOOK_EVERY_MS, "open holds could not be counted", async () =>
          events.holdsSeen(await holds.countOpen()),
        );
        /** @param round deletes old rows, which a process with a clock far ahead must not do */
        const sweep = (problem: string, round: (now: Date, stopping: AbortSignal) => Promise<void>) =>
          repeat(SWEEP_EVERY_MS, problem, async (stopping) => {
            await clockCheck.requireRightClock(pool);
            await round(new Date(clock.now()), stopping);
          });
        sweep("old claims could not be deleted", (_now, stopping) => ledger.sweep(stopping));
        const problem = "old lines of the text log could not be deleted, or its next months not be created";
        sweep(problem, async (now, stopping) => {
          await texts.removeOld(textDays, now, stopping);
          await createMonths(pool, now);
        });
        sweep("old prompts and answers could not be deleted", (now, stopping) =>
          savedTexts.removeOld(now, stopping),
        );
      },
      ready: async () => {
        const answer = await answers();
        if (answer !== true) return answer;
        return clockCheck.problem ?? (await hasTables());
      },
      stop: async () => {
        await Promise.all(rounds.map((stop) => stop()));
        ledger.close();
        windows.close();
        await pool.end();
      },
    };
  },
});
