// Times of three reads in a book of many keys: credits, usage of the keys of an account, and a page of the ledger. Each is read from
// accounts that memory lacks, and from the same accounts again.
// node services/billing/bench/many-keys.ts [keys] [steps].
import { randomUUID } from "node:crypto";
import { BillingReportService, BillingService } from "@gr/proto/billing";
import { migrate, type Pool, startProcess, systemClock } from "@gr/runtime";
import { billingModule } from "../src/module.ts";
import { createStepLedger } from "../src/step-ledger/step-ledger.ts";
import { log, SCHEMA, startBenchDatabase } from "./bench-database.ts";
import { addPairs, monthStart, openAccounts } from "./synthetic-book-store.ts";

/** Keys of one account. */
const KEYS = 100;
const PAGE = 100;
const CALLS = 500;
/** Steps of one statement, approximately. */
const SLICE = 100_000;
/** Time after which the book stays as large as it is. */
const FILLING_MS = 8 * 60_000;
const [keys = 1_000_000, steps = 10_000_000] = process.argv.slice(2).map(Number);
const accounts = Math.ceil(keys / KEYS);

const postgres = await startBenchDatabase();
const pool = await postgres.newPool(4);
await migrate(pool, SCHEMA);
const events = {
  committed: () => undefined,
  triedAgain: () => undefined,
  refusedFromMemory: () => undefined,
};
const ledger = createStepLedger({ pool, clock: systemClock, freeLimit: null, log, events });
const follow = () => ledger.follow();
const ids = await openAccounts(pool, { accounts, keys: KEYS, openedAt: monthStart(0) }, follow);
const filled = await fill(pool);
ledger.close();
await pool.query("VACUUM ANALYZE");
console.log(`${accounts * KEYS} keys of ${accounts} accounts, ${filled} steps`);
await pool.end();

const running = await startProcess([billingModule], {
  env: {
    DATABASE_URL: postgres.url,
    INTERNAL_AUTH_SECRET: randomUUID() + randomUUID(),
    SERVICE_HTTP_PORT: "0",
    SERVICE_RPC_PORT: "0",
    LOG_LEVEL: "error",
  },
});
const billing = running.dial("billing", BillingService);
const reports = running.dial("billing", BillingReportService);
const spenders = new Map<string, string[]>();
const sample = ids.toSorted(() => Math.random() - 0.5).slice(0, CALLS * 3);
const reads = {
  credits: (accountId: string) => billing.getCredits({ accountId }),
  "list of keys": async (accountId: string) => {
    const { usage } = await billing.getCredits({ accountId, bySpender: true, limit: PAGE });
    const listed = usage.flatMap(({ spender }) => spender?.spenderId ?? []);
    spenders.set(accountId, listed);
  },
  "page of the ledger": (accountId: string) => reports.listEntries({ accountId, limit: PAGE }),
};
for (const [index, [name, read]] of Object.entries(reads).entries()) {
  const own = sample.slice(index * CALLS, (index + 1) * CALLS);
  await time(`${name}, first read`, own, read);
  await time(`${name}, read again`, own, read);
}
await time("last days of keys", [...spenders.keys()], (accountId) =>
  reports.readSpenders({ accountId, spenderIds: spenders.get(accountId) ?? [] }),
);
await running.stop();
await postgres.stop();
process.exitCode = 0;

/** @returns steps */
async function fill(pool: Pool): Promise<number> {
  const until = performance.now() + FILLING_MS;
  const count = Math.ceil(SLICE / accounts / 2);
  const slices = Math.ceil((steps - accounts * (KEYS + 2)) / accounts / 2 / count);
  const [begin, end] = [monthStart(0), Math.min(Date.now(), monthStart(1))];
  let before = 0;
  for (let slice = 0; slice < slices && performance.now() < until; slice += 1) {
    const [from, to] = [slice, slice + 1].map((part) => Math.floor(begin + ((end - begin) / slices) * part));
    await addPairs(pool, { from: from ?? begin, until: to ?? end, count, before, keys: KEYS });
    await follow();
    before += count;
  }
  return accounts * (KEYS + 2 + 2 * before);
}

async function time(
  name: string,
  of: readonly string[],
  read: (accountId: string) => Promise<unknown>,
): Promise<void> {
  const times: number[] = [];
  for (const accountId of of) {
    const from = performance.now();
    await read(accountId);
    times.push(performance.now() - from);
  }
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
  console.log(`| ${name} | middle ${at(0.5)} ms | p99 ${at(0.99)} ms |`);
}
