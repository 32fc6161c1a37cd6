// The billing module: opens its schema, then serves money operations over RPC and the balance over REST.
import { join } from "node:path";
import {
  type Clock,
  createReadyCheck,
  defineModule,
  type Logger,
  openPool,
  openRedis,
  requireSchema,
  startRounds,
} from "@gr/runtime";
import { createAccountStore } from "./accounts/account-store.ts";
import { createAdjustmentStore } from "./accounts/adjustment-store.ts";
import { createSpenderCheck } from "./accounts/check-spender.ts";
import { createActivity } from "./activity/activity.ts";
import { createAnswerStore } from "./claims/answer-store.ts";
import { type ClaimingSpender, judgeClaim, sweepClaims } from "./claims/claim-store.ts";
import { type BillingConfig, billingConfig } from "./config.ts";
import { createBillingEvents } from "./events.ts";
import { Follower } from "./follower/follower.ts";
import { sumsReader } from "./follower/sums-store.ts";
import { createHoldStore } from "./holds/hold-store.ts";
import { LocalSpendMirror } from "./mirror/local-mirror.ts";
import { MirroredWriter } from "./mirror/mirrored-writer.ts";
import { RedisSpendMirror } from "./mirror/redis-mirror.ts";
import { forgettingAccounts, forgettingAdjustments, type SpendMirror } from "./mirror/spend-mirror.ts";
import { createReadExpiry, createReadSpendNumbers } from "./mirror/spend-numbers-store.ts";
import { billingReportRpc } from "./reports/report-rpc.ts";
import { createReportStore } from "./reports/report-store.ts";
import { billingRest } from "./rpc/rest.ts";
import { billingRpc } from "./rpc/rpc.ts";
import { textLogRpc } from "./text-log/text-log-rpc.ts";
import { createTextLogStore } from "./text-log/text-log-store.ts";
import { unsafeSettings } from "./verify/database-health-store.ts";
import { verifyLedger } from "./verify/ledger-invariants-store.ts";
import { LedgerConnection } from "./writer/ledger-connection.ts";
import { ledgerTimeOf } from "./writer/ledger-time.ts";
import { LedgerWriter } from "./writer/ledger-writer.ts";

/** Between two rounds over claims that have had their time. */
const SWEEP_EVERY_MS = 300_000;
/** Between two looks at the holds that are open. */
const LOOK_EVERY_MS = 15_000;
const READY_FOR_MS = 1_000;
/** Tables change rarely, and are looked at in files and a transaction. */
const TABLES_FOR_MS = 15_000;

const schema = { name: "billing", migrations: join(import.meta.dirname, "../migrations") };

export const billingModule = defineModule({
  name: "billing",
  needs: [],
  config: billingConfig,
  schema,
  async create({ config, log, clock, metrics }) {
    const pool = await openPool(config, schema, log, metrics);
    const time = ledgerTimeOf(clock);
    const events = createBillingEvents(log, metrics, () => ledgerWriter.waiting);
    const { mirror, stopwatch, close } = await openSpendMirror(config, { clock, log });
    const accounts = forgettingAccounts(createAccountStore(pool, time), mirror);
    const readNumbers = createReadSpendNumbers(pool, time);
    const freeLimit = config.FREE_REQUESTS_PER_DAY === 0 ? null : config.FREE_REQUESTS_PER_DAY;
    const connection = new LedgerConnection(pool, () => ({ at: time(), freeLimit }), log);
    const ledgerWriter = new LedgerWriter(connection, events);
    const writer = new MirroredWriter({
      writer: ledgerWriter,
      mirror,
      readNumbers,
      events,
      stopwatch,
    });
    const judge = (claiming: ClaimingSpender) => judgeClaim(pool, readNumbers, claiming, time());
    const holds = createHoldStore(pool, time);
    const texts = createTextLogStore(pool);
    const textDays = config.TEXT_LOG_DAYS;
    const sums = new Follower({ pool, reader: sumsReader, log });
    const activity = createActivity({ pool, accounts, clock, follow: () => sums.catchUp() });
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
    const rpc = billingRpc({
      writer,
      accounts,
      adjustments: forgettingAdjustments(createAdjustmentStore(pool, time), mirror),
      answers: createAnswerStore(pool, time),
      judgeClaim: judge,
      checkSpender: createSpenderCheck({ writer, readExpiry: createReadExpiry(pool), judgeClaim: judge }),
      holds,
      verify: () => verifyLedger(pool),
      events,
    });
    return {
      rpc: [
        rpc,
        billingReportRpc({ reports: createReportStore(pool), accounts }),
        textLogRpc(texts, textDays),
        activity.rpc,
      ],
      rest: { routes: [...billingRest({ accounts, events }).routes, activity.route] },
      start: async () => {
        events.mayForget(await unsafeSettings(pool));
        const sweep = startRounds({
          clock,
          pauseMs: SWEEP_EVERY_MS,
          round: (stopping) => sweepClaims(pool, time, stopping),
          failed: (err) => log.warn({ err }, "old claims could not be deleted; the next round tries again"),
        });
        const look = startRounds({
          clock,
          pauseMs: LOOK_EVERY_MS,
          round: async () => events.holdsSeen(await holds.countOpen()),
          failed: (err) => log.warn({ err }, "open holds could not be counted; the next round tries again"),
        });
        const forget = startRounds({
          clock,
          pauseMs: SWEEP_EVERY_MS,
          round: (stopping) => texts.removeOld(textDays, new Date(clock.now()), stopping),
          failed: (err) => log.warn({ err }, "old lines of the text log stay; the next round tries again"),
        });
        rounds.push(sweep, look, forget);
      },
      ready: async () => {
        const answer = await answers();
        return answer === true ? await hasTables() : answer;
      },
      stop: async () => {
        await Promise.all(rounds.map((stop) => stop()));
        connection.close();
        close();
        await pool.end();
      },
    };
  },
});

interface OpenSpendMirror {
  readonly mirror: SpendMirror;
  /** Milliseconds that never run back; what the mirror counts ages by. */
  readonly stopwatch: Clock;
  close(): void;
}

/** The mirror that all processes share where there is a Redis, else one of this process. @param clock that windows end by. */
async function openSpendMirror(
  config: BillingConfig,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<OpenSpendMirror> {
  const stopwatch: Clock = { now: () => performance.now() };
  const redis = await openRedis(config, { name: "generation-router billing", log });
  if (redis === undefined) {
    return { mirror: new LocalSpendMirror(clock, stopwatch), stopwatch, close: () => undefined };
  }
  const mirror = new RedisSpendMirror(redis, clock, stopwatch, log);
  return { mirror, stopwatch, close: () => redis.disconnect() };
}
