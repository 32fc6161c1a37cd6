// Cost of the work behind the ledger: µs of PostgreSQL for a place and its capture in the sums and in the list of open holds, by pairs
// in one round. CPU is that of the followers' backend.
// node services/billing/bench/follow.ts [rounds]
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { BudgetDefinition } from "@gr/ledger";
import { migrate, systemClock } from "@gr/runtime";
import { ChainConnection } from "../src/chain/chain-connection.ts";
import { Follower, type StepReader } from "../src/follower/follower.ts";
import { openHoldsReader } from "../src/follower/open-hold-store.ts";
import { sumsReader } from "../src/follower/sums-store.ts";
import { log, SCHEMA, startBenchDatabase } from "./bench-database.ts";

const PAIRS = [10, 100, 1_000, 5_000];
const ACCOUNTS = [1, 2_000];
const BATCH = 250;
const CREDITS = 1_000_000_000_000n;
const rounds = Number(process.argv[2] ?? 3);

const tag = {
  service: "bench",
  provider: "bench",
  upstreamModel: "sandbox/chat",
  model: "chat",
  priceVersion: "v1",
};
const postgres = await startBenchDatabase();
const writing = await postgres.newPool(2);
await migrate(writing, SCHEMA);
const following = await postgres.newPool(1);
const connection = new ChainConnection({ pool: writing, clock: systemClock, freeLimit: null, log });
const wallets = Array.from({ length: Math.max(...ACCOUNTS) }, () => ({
  accountId: randomUUID(),
  budgetId: randomUUID(),
}));
for (let from = 0; from < wallets.length; from += BATCH) {
  await connection.post(wallets.slice(from, from + BATCH).flatMap(openingOf));
}
const readers: readonly StepReader[] = [sumsReader, openHoldsReader];
const followers = readers.map((reader) => new Follower({ pool: following, reader, log, pauseMs: 0 }));
for (const follower of followers) await follower.catchUp();
await writing.query("VACUUM ANALYZE");

for (const accounts of ACCOUNTS) for (const pairs of PAIRS) await measure(accounts, pairs);
connection.close();
await writing.end();
await following.end();
await postgres.stop();
process.exitCode = 0;

async function measure(accounts: number, pairs: number): Promise<void> {
  const found: number[][] = readers.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    await writePairs(accounts, pairs);
    for (const [index, follower] of followers.entries()) {
      const before = await backendMicros();
      await follower.catchUp();
      found[index]?.push(((await backendMicros()) - before) / pairs);
    }
  }
  const figures = readers.map(({ name }, index) => `${name} ${median(found[index] ?? []).toFixed(1)} µs`);
  process.stdout.write(`| ${accounts} accounts | ${pairs} pairs a round | ${figures.join(" | ")} |\n`);
}

async function writePairs(accounts: number, pairs: number): Promise<void> {
  for (let from = 0; from < pairs; from += BATCH) {
    const holds = Array.from({ length: Math.min(BATCH, pairs - from) }, (_, index) => ({
      holdId: randomUUID(),
      wallet: wallets[(from + index) % accounts],
    }));
    await connection.post(holds.flatMap(({ holdId, wallet }) => (wallet ? placeOf(wallet, holdId) : [])));
    await connection.post(holds.flatMap(({ holdId, wallet }) => (wallet ? captureOf(wallet, holdId) : [])));
  }
}

interface Wallet {
  readonly accountId: string;
  readonly budgetId: string;
}

function openingOf({ accountId, budgetId }: Wallet) {
  const definition: BudgetDefinition = {
    ...{ id: budgetId, parentId: null, level: "key", name: "bench", limit: CREDITS, period: "day" },
    ...{ expiresAt: null, active: true, createdAt: 0, revision: 1n },
  };
  return [
    { kind: "open", accountId },
    { kind: "deposit", accountId, id: randomUUID(), credits: CREDITS },
    { kind: "budget", accountId, definition },
  ] as const;
}

function placeOf(wallet: Wallet, holdId: string) {
  const deadlineAt = Date.now() + 600_000;
  return { kind: "place", ...wallet, holdId, credits: 500n, deadlineAt, tag } as const;
}

function captureOf({ accountId }: Wallet, holdId: string) {
  return { kind: "capture", accountId, holdId, charge: 124n, cost: 12_345_678n } as const;
}

/** @returns µs that the backend of the followers has had a processor, on Linux */
async function backendMicros(): Promise<number> {
  const { rows } = await following.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const [ns] = readFileSync(`/proc/${rows[0]?.pid}/schedstat`, "utf8").split(" ");
  return Number(ns) / 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
