// What the money of one request costs: place+capture pairs through the whole path (batching client, in-process RPC,
// module, durable PostgreSQL), for many accounts and for one hot one, at rising concurrency, without and with claims.
// node services/billing/bench/post.ts [seconds per line] [plain: only without claims]
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createBilling } from "@gr/clients";
import { claimOf } from "@gr/paid-request";
import { BillingService, SpendPeriod } from "@gr/proto/billing";
import { nextTurn, startProcess, systemClock } from "@gr/runtime";
import pg from "pg";
import { billingModule } from "../src/module.ts";
import { startBenchDatabase } from "./bench-database.ts";

const ACCOUNTS = 10_000;
/** Accounts that are opened at the same time. */
const TOGETHER = 500;
const CREDITS = 1_000_000_000_000n;
const CONCURRENCY = [1, 4, 16, 64, 256];
/** Of which accounts, and whether each place claims an Idempotency-Key of its own. */
const SERIES = [
  { hot: false, claims: false },
  { hot: true, claims: false },
  { hot: false, claims: true },
  { hot: true, claims: true },
] as const;
const plain = process.argv[3] === "plain";
const seconds = Number(process.argv[2] ?? 5);
/** Of /proc/<pid>/stat, on every Linux. */
const TICK_US = 10_000;

const postgres = await startBenchDatabase();
const running = await startProcess([billingModule], {
  env: {
    DATABASE_URL: postgres.url,
    INTERNAL_AUTH_SECRET: randomUUID() + randomUUID(),
    SERVICE_HTTP_PORT: "0",
    SERVICE_RPC_PORT: "0",
    LOG_LEVEL: "error",
  },
});
const service = running.dial("billing", BillingService);
const billing = createBilling(service, systemClock, nextTurn);
const db = new pg.Client({ connectionString: postgres.url });
await db.connect();
const accounts = Array.from({ length: ACCOUNTS }, () => randomUUID());
for (let from = 0; from < ACCOUNTS; from += TOGETHER) {
  await Promise.all(accounts.slice(from, from + TOGETHER).map(openAccount));
}
await db.query("VACUUM ANALYZE");

async function openAccount(accountId: string): Promise<void> {
  await service.openAccount({ accountId });
  const reason = "bench";
  await service.putAdjustment({ adjustmentId: randomUUID(), accountId, credits: CREDITS, reason });
  const spender = { spenderId: accountId, accountId, name: "bench", capCredits: CREDITS };
  const createdAt = BigInt(Date.now());
  await service.putSpender({ spender: { ...spender, period: SpendPeriod.DAY, active: true, createdAt } });
}

interface Counters {
  readonly node: number;
  readonly postgres: number;
  readonly commits: number;
  readonly operations: number;
}

async function counters(): Promise<Counters> {
  const { user, system } = process.cpuUsage();
  const { rows } = await db.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'generation-router billing'",
  );
  const ticks = rows.map(({ pid }) => {
    const [, , , , , , , , , , , utime = "0", stime = "0"] =
      readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return Number(utime) + Number(stime);
  });
  const metrics = await (await fetch(`http://127.0.0.1:${running.httpPort}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(metrics)?.[1] ?? 0);
  return {
    node: user + system,
    postgres: ticks.reduce((sum, each) => sum + each, 0) * TICK_US,
    commits: metric("billing_batch_operations_count"),
    operations: metric("billing_batch_operations_sum"),
  };
}

type Series = (typeof SERIES)[number];

async function measure({ hot, claims }: Series, concurrency: number): Promise<string> {
  const latencies: number[] = [];
  const until = performance.now() + seconds * 1_000;
  const before = await counters();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < until) {
        const id = accounts[hot ? 0 : Math.floor(Math.random() * ACCOUNTS)] ?? "";
        const holdId = randomUUID();
        const begun = performance.now();
        await billing.place({
          holdId,
          accountId: id,
          spenderId: id,
          credits: 500n,
          service: "bench",
          provider: "bench",
          upstreamModel: "chat",
          model: "sandbox/chat",
          priceVersion: "v1",
          deadlineAt: Date.now() + 600_000,
          claim: claims
            ? await claimOf({ "idempotency-key": holdId }, "/v1/bench", { keyId: id }, () => [holdId], {
                owner: id,
              })
            : undefined,
        });
        await billing.capture({ accountId: id, holdId, credits: 124n, cost: 12_345_678_901n });
        latencies.push(performance.now() - begun);
      }
    }),
  );
  const elapsed = (performance.now() - started) / 1_000;
  const after = await counters();
  const pairs = latencies.length;
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(pairs * share)] ?? 0).toFixed(1);
  const each = (cpu: number) => (cpu / pairs).toFixed(0);
  const batch = (after.operations - before.operations) / (after.commits - before.commits);
  return [
    hot ? "1 hot" : String(ACCOUNTS),
    claims ? "each" : "none",
    concurrency,
    (pairs / elapsed).toFixed(0),
    at(0.5),
    at(0.99),
    each(after.node - before.node),
    each(after.postgres - before.postgres),
    batch.toFixed(1),
  ]
    .map((cell) => String(cell).padStart(11))
    .join("");
}

const columns = [
  "accounts",
  "claims",
  "concurrency",
  "pairs/s",
  "p50 ms",
  "p99 ms",
  "node us",
  "postgres us",
  "batch",
];
console.log(columns.map((column) => column.padStart(11)).join(""));
for (const series of SERIES.filter(({ claims }) => !plain || !claims)) {
  for (const concurrency of CONCURRENCY) console.log(await measure(series, concurrency));
}
const { differences } = await service.verifyLedger({}, { timeoutMs: 120_000 });
console.log(
  differences.length === 0 ? "the ledger adds up" : `${differences.length} differences in the ledger`,
);
await db.end();
await running.stop();
await postgres.stop();
