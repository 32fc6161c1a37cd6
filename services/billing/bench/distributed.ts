// Cost of a place and its capture in all processes of PostgreSQL, on one PostgreSQL or on Citus. Loops are bounded; figures of one run
// compare. `npm run test:distributed -- --figures` starts the servers and runs this program on each.
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { connectPostgres, createLogger, systemClock } from "@gr/runtime";
import { ChainConnection } from "../src/chain/chain-connection.ts";
import type { ChainOperation } from "../src/chain/chain-operation.ts";
import { migratedDatabase } from "../src/test/migrated-database.ts";

const ACCOUNTS = 2_000;
const ROUNDS = 3;
/** Flushes of one figure, by pairs in a flush. */
const FLUSHES = new Map([
  [1, 60],
  [64, 24],
  [512, 8],
]);
const WARM_FLUSHES = 10;
const TICK_US = 10_000;
const tag = { service: "figures", provider: "p", upstreamModel: "m", model: "m", priceVersion: "v1" };

interface Wallet {
  readonly accountId: string;
  readonly budgetId: string;
}

const [name = "", ...servers] = process.argv.slice(2);
await measureAll(servers.map(Number), (line) => process.stdout.write(`${line}\n`));

async function measureAll(pids: readonly number[], print: (line: string) => void): Promise<void> {
  const { url } = await migratedDatabase();
  const log = createLogger("silent", "figures");
  const pool = await connectPostgres({ url, poolSize: 2, schema: "billing", log });
  const connection = new ChainConnection({
    pool,
    clock: systemClock,
    freeLimit: null,
    log,
    cacheBytes: 2 ** 29,
  });
  const wallets = Array.from({ length: ACCOUNTS }, () => ({
    accountId: randomUUID(),
    budgetId: randomUUID(),
  }));
  for (let from = 0; from < ACCOUNTS; from += 500)
    await connection.post(wallets.slice(from, from + 500).flatMap(openingOf));
  for (const count of [1, ACCOUNTS]) {
    for (const [size, flushes] of FLUSHES) {
      const figures: { us: number; perSecond: number }[] = [];
      const some = wallets.slice(0, count);
      await runFlushes(connection, some, size, WARM_FLUSHES);
      for (let round = 0; round < ROUNDS; round += 1) {
        const [cpu, begun] = [cpuOf(pids), performance.now()];
        await runFlushes(connection, some, size, flushes);
        const ms = performance.now() - begun;
        figures.push({
          us: (cpuOf(pids) - cpu) / (size * flushes),
          perSecond: (size * flushes * 1_000) / ms,
        });
      }
      const [us, perSecond] = [
        median(figures.map((each) => each.us)),
        median(figures.map((each) => each.perSecond)),
      ];
      print(`| ${name} | ${count} | ${size} | ${us.toFixed(0)} | ${perSecond.toFixed(0)} |`);
    }
  }
  connection.close();
  await pool.end();
}

function openingOf({ accountId, budgetId }: Wallet): ChainOperation[] {
  const fields = {
    id: budgetId,
    parentId: null,
    level: "key",
    name: "figures",
    limit: null,
    period: "day",
  } as const;
  const definition = { ...fields, expiresAt: null, active: true, createdAt: 0, revision: 1n };
  return [
    { kind: "open", accountId },
    { kind: "deposit", accountId, id: randomUUID(), credits: 1_000_000_000_000n },
    { kind: "budget", accountId, definition },
  ];
}

async function runFlushes(
  connection: ChainConnection,
  wallets: readonly Wallet[],
  size: number,
  flushes: number,
): Promise<void> {
  for (let flush = 0; flush < flushes; flush += 1) {
    const pairs = Array.from({ length: size }, (_, index) => ({
      wallet: wallets[(flush * size + index * 7) % wallets.length] as Wallet,
      holdId: randomUUID(),
    }));
    const deadlineAt = Date.now() + 600_000;
    const placed = await connection.post(
      pairs.map(({ wallet, holdId }) => ({
        kind: "place",
        ...wallet,
        holdId,
        credits: 500n,
        deadlineAt,
        tag,
      })),
    );
    const captured = await connection.post(
      pairs.map(({ wallet: { accountId }, holdId }) => ({
        kind: "capture",
        accountId,
        holdId,
        charge: 124n,
        cost: 5n,
      })),
    );
    const refused = [...placed, ...captured].find(({ code }) => code !== "done");
    if (refused !== undefined) throw new Error(`A pair was refused: ${refused.code}.`);
  }
}

/** @returns µs of the servers and of all their processes, also of those that have ended */
function cpuOf(servers: readonly number[]): number {
  let ticks = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(name);
    const isServer = servers.includes(Number(name));
    if (stat === undefined || (!isServer && !servers.includes(stat.parent))) continue;
    ticks += stat.own + (isServer ? stat.ended : 0);
  }
  return ticks * TICK_US;
}

function statOf(pid: string): { parent: number; own: number; ended: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return { parent: fields[1] ?? 0, own: user + system, ended: endedUser + endedSystem };
  } catch (error) {
    if (
      (error as NodeJS.ErrnoException).code === "ENOENT" ||
      (error as NodeJS.ErrnoException).code === "ESRCH"
    )
      return undefined;
    throw error;
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
