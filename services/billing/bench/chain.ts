// Cost of a place and its capture in PostgreSQL, with one level of budgets and with four, in one run. CPU is that of the writer's
// backend; figures of one run compare, those of two runs do not.
// node services/billing/bench/chain.ts [rounds]
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { migrate, systemClock } from "@gr/runtime";
import pg from "pg";
import { ChainConnection } from "../src/chain/chain-connection.ts";
import type { ChainOperation } from "../src/chain/chain-operation.ts";
import { log, SCHEMA, startBenchDatabase } from "./bench-database.ts";

const ACCOUNTS = 10_000;
const BATCHES = [1, 10, 64];
const CREDITS = 1_000_000_000_000n;
const HOLD = 500n;
const CHARGE = 124n;
const COST = 12_345_678_901n;
/** Batches of one figure, by their size. */
const COUNTS = new Map([
  [1, 120],
  [10, 60],
  [64, 40],
]);
const WARM_BATCHES = 20;
const rounds = Number(process.argv[2] ?? 5);

const tag = {
  service: "bench",
  provider: "bench",
  upstreamModel: "sandbox/chat",
  model: "chat",
  priceVersion: "v1",
};

/** One way to write pairs. */
interface Variant {
  readonly name: string;
  run(holds: readonly Pair[]): Promise<void>;
}

interface Pair {
  readonly holdId: string;
  readonly account: BenchAccount;
}

interface BenchAccount {
  readonly id: string;
  /** Budget without a parent. */
  readonly single: string;
  /** Chain of budgets, from the root down. */
  readonly chain: readonly string[];
}

const postgres = await startBenchDatabase();
await migrate(await postgres.newPool(2), SCHEMA);
const db = new pg.Client({ connectionString: postgres.url });
await db.connect();
const accounts: BenchAccount[] = Array.from({ length: ACCOUNTS }, () => ({
  id: randomUUID(),
  single: randomUUID(),
  chain: Array.from({ length: 4 }, () => randomUUID()),
}));
const chainConnection = new ChainConnection({
  pool: await postgres.newPool(2),
  clock: systemClock,
  freeLimit: null,
  log,
  cacheBytes: 2 ** 30,
});

const variants: Variant[] = [
  { name: "1 level", run: (pairs) => runChain(pairs, 1) },
  { name: "4 levels", run: (pairs) => runChain(pairs, 4) },
];

await openAccounts();
const medians = new Map<string, Figures>();
for (const isHot of [true, false]) for (const batch of BATCHES) await measureAll(isHot, batch);
printRatios();
chainConnection.close();
await db.end();
await postgres.stop();
process.exitCode = 0;

async function openAccounts(): Promise<void> {
  for (let from = 0; from < ACCOUNTS; from += 500) {
    await chainConnection.post(accounts.slice(from, from + 500).flatMap(openingOf));
  }
  await db.query("VACUUM ANALYZE");
}

function openingOf({ id: accountId, single, chain }: BenchAccount): ChainOperation[] {
  const budget = (id: string, parentId: string | null): ChainOperation => ({
    kind: "budget",
    accountId,
    definition: {
      ...{ id, parentId, level: "key", name: "bench", limit: CREDITS, period: "day" },
      ...{ expiresAt: null, active: true, createdAt: 0, revision: 1n },
    },
  });
  return [
    { kind: "open", accountId },
    { kind: "deposit", accountId, id: randomUUID(), credits: CREDITS },
    budget(single, null),
    ...chain.map((id, index) => budget(id, chain[index - 1] ?? null)),
  ];
}

async function runChain(pairs: readonly Pair[], levels: 1 | 4): Promise<void> {
  const deadlineAt = Date.now() + 600_000;
  const placed = await chainConnection.post(
    pairs.map(({ holdId, account: { id: accountId, single, chain } }) => {
      const budgetId = levels === 1 ? single : (chain.at(-1) ?? "");
      return { kind: "place", accountId, holdId, budgetId, credits: HOLD, deadlineAt, tag };
    }),
  );
  const captured = await chainConnection.post(
    pairs.map(({ holdId, account: { id: accountId } }) => {
      return { kind: "capture", accountId, holdId, charge: CHARGE, cost: COST };
    }),
  );
  const refused = [...placed, ...captured].find(({ code }) => code !== "done");
  if (refused !== undefined) throw new Error(`A pair was refused: ${refused.code}.`);
}

interface Figures {
  /** µs of PostgreSQL a pair. */
  readonly postgres: number;
  /** Processor time of this process for a pair, in µs. */
  readonly node: number;
  /** Bytes of WAL a pair. */
  readonly wal: number;
  readonly pairsPerSecond: number;
}

async function measureAll(isHot: boolean, batch: number): Promise<void> {
  const all = new Map<Variant, Figures[]>(variants.map((variant) => [variant, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const variant of variants) {
      await db.query("CHECKPOINT");
      await runBatches(variant, isHot, batch, WARM_BATCHES);
      all.get(variant)?.push(await measure(variant, isHot, batch));
    }
  }
  for (const [{ name }, figures] of all) {
    const middle = (of: (each: Figures) => number) => median(figures.map(of));
    const result: Figures = {
      postgres: middle(({ postgres: each }) => each),
      node: middle(({ node }) => node),
      wal: middle(({ wal }) => wal),
      pairsPerSecond: middle(({ pairsPerSecond }) => pairsPerSecond),
    };
    const where = isHot ? "1 account" : `${ACCOUNTS} accounts`;
    medians.set(`${where} ${batch} ${name}`, result);
    const cells = [
      `${result.postgres.toFixed(1)} µs PostgreSQL`,
      `${result.node.toFixed(1)} µs Node`,
      `${result.wal.toFixed(0)} B WAL`,
      `${result.pairsPerSecond.toFixed(0)} pairs/s`,
    ];
    console.log(`| ${where} | batch ${batch} | ${name} | ${cells.join(" | ")} |`);
  }
}

async function measure(variant: Variant, isHot: boolean, batch: number): Promise<Figures> {
  const pid = await writingBackend();
  const wal = await walPosition();
  const cpu = cpuOf(pid);
  const usage = process.cpuUsage();
  const begun = performance.now();
  const pairs = await runBatches(variant, isHot, batch, COUNTS.get(batch) ?? 0);
  const ms = performance.now() - begun;
  const { user, system } = process.cpuUsage(usage);
  const bytes = await db.query<{ bytes: string }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::text AS bytes",
    [wal],
  );
  return {
    postgres: (cpuOf(pid) - cpu) / pairs,
    node: (user + system) / pairs,
    wal: Number(bytes.rows[0]?.bytes ?? 0) / pairs,
    pairsPerSecond: (pairs / ms) * 1_000,
  };
}

/** @returns pairs */
async function runBatches(variant: Variant, isHot: boolean, batch: number, count: number): Promise<number> {
  for (let done = 0; done < count; done += 1) {
    const some = Array.from({ length: batch }, () => pick(isHot));
    await variant.run(some.map((account) => ({ holdId: randomUUID(), account })));
  }
  return batch * count;
}

function pick(isHot: boolean): BenchAccount {
  const account = accounts[isHot ? 0 : Math.floor(Math.random() * ACCOUNTS)];
  if (account === undefined) throw new RangeError("There is no such account.");
  return account;
}

async function writingBackend(): Promise<number> {
  const { rows } = await db.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT INTO step%' AND pid <> pg_backend_pid()",
  );
  const [row, other] = rows;
  if (row === undefined || other !== undefined) throw new Error(`${rows.length} backends store steps.`);
  return row.pid;
}

async function walPosition(): Promise<string> {
  const { rows } = await db.query<{ lsn: string }>("SELECT pg_current_wal_lsn()::text AS lsn");
  return rows[0]?.lsn ?? "0/0";
}

/** @returns µs that the process has had a processor, on Linux */
function cpuOf(pid: number): number {
  const [ns] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ");
  return Number(ns) / 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function printRatios(): void {
  for (const where of ["1 account", `${ACCOUNTS} accounts`]) {
    for (const batch of BATCHES) {
      const of = (name: string) => medians.get(`${where} ${batch} ${name}`)?.postgres ?? Number.NaN;
      console.log(
        `${where}, batch ${batch}: 4 levels / 1 level ${(of("4 levels") / of("1 level")).toFixed(2)}`,
      );
    }
  }
}
