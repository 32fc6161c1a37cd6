// Verification owns the order of a proof: slices of whole buckets, one after the other, so no snapshot is open for long. It begins at the
// latest seals, or with the first steps.
import type { Pool, PoolClient } from "@gr/runtime";
import { readEarlierTotals } from "../before-steps/earlier-invariants-store.ts";
import { listChains, withSealClient, withSettings } from "../seals/seal-store.ts";
import { copyTables } from "../shards/copied-steps-store.ts";
import { type Shards, shardsOf } from "../shards/shard-store.ts";
import {
  findChainDifferences,
  type ProvedChain,
  patiently,
  type Slice,
  STATEMENT_MS,
  sumTotals,
} from "./chain-invariants-store.ts";
import type { LedgerReport } from "./ledger-report.ts";
import { findSealDifferences } from "./seal-invariants-store.ts";

/** Steps of one slice, approximately: at least one bucket. */
const SLICE_STEPS = 200_000n;
const SLICE_ACCOUNTS = 20_000;
const LAST_BUCKET = 255;
const PAGE = 1_000;

/** Without statistics the planner takes an account for few rows, and a nested loop over its steps never ends. */
export const PLANNER = `SET enable_nestloop = off; SET jit = off; SET statement_timeout = ${STATEMENT_MS}`;

export interface Proof {
  /** Unix milliseconds. */
  readonly now: number;
  /** Proves sealed months from their steps, too. */
  readonly all: boolean;
}

export async function verifyChains(pool: Pool, { now, all }: Proof): Promise<LedgerReport> {
  const reports: LedgerReport[] = [];
  const shards = await shardsOf(pool);
  if (shards.isDistributed) reports.push(...(await proveCopies(pool, shards, { now, all })));
  else
    for await (const slice of slicesOf(pool, all)) {
      reports.push(await withSettings(pool, PLANNER, (client) => proveSlice(client, slice, { now, all })));
      if (!all) continue;
      await withSealClient(pool, async (client) => {
        for (const chain of slice.chains) {
          const differences = await findSealDifferences(client, chain);
          if (differences.length > 0) reports.push({ ...NOTHING, differences });
        }
      });
    }
  const earlier = await readEarlierTotals(pool, patiently);
  return [{ ...NOTHING, ...earlier }, ...reports].reduce(sumOf);
}

/** Tables with rows on workers. The checks join them with tables of the coordinator. */
const DISTRIBUTED = ["step", "claim", "kept_answer", "account_state"];
const COPIED_BUCKETS = 32;

/** Proves a distributed ledger from copies on the coordinator, all of one snapshot. */
async function proveCopies(pool: Pool, shards: Shards, { now, all }: Proof): Promise<LedgerReport[]> {
  const reports: LedgerReport[] = [];
  for (let first = 0; first <= LAST_BUCKET; first += COPIED_BUCKETS) {
    const buckets = Array.from({ length: COPIED_BUCKETS }, (_, index) => first + index);
    await withSettings(pool, PLANNER, async (client) => {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
      await client.query("SET LOCAL citus.max_adaptive_executor_pool_size = 1");
      await copyTables(client, shards, DISTRIBUTED, buckets);
      const slice = await listSlice(client, [first, first + COPIED_BUCKETS - 1], all);
      reports.push(await proveSlice(client, slice, { now, all }));
      for (const chain of all ? slice.chains : []) {
        reports.push({ ...NOTHING, differences: await findSealDifferences(client, chain) });
      }
    });
  }
  return reports;
}

async function proveSlice(client: PoolClient, slice: Slice, { now, all }: Proof): Promise<LedgerReport> {
  const differences = await findChainDifferences(
    client,
    slice,
    () => listSlice(client, slice.buckets, all),
    now,
  );
  return { differences, ...(await sumTotals(client, slice, now)) };
}

/** Lists the accounts of these buckets. */
export async function listSlice(
  client: Pool | PoolClient,
  buckets: Slice["buckets"],
  all: boolean,
): Promise<Slice> {
  const chains: ListedChain[] = [];
  for await (const page of pagesOf(client, buckets, all)) chains.push(...page);
  return { buckets, chains };
}

async function* slicesOf(pool: Pool, all: boolean): AsyncGenerator<Slice> {
  let chains: ListedChain[] = [];
  let steps = 0n;
  let first = 0;
  for await (const page of pagesOf(pool, [0, LAST_BUCKET], all)) {
    for (const chain of page) {
      const isNewBucket = chain.bucket !== chains.at(-1)?.bucket;
      if (isNewBucket && (steps >= SLICE_STEPS || chains.length >= SLICE_ACCOUNTS)) {
        yield { buckets: [first, chain.bucket - 1], chains };
        [chains, steps, first] = [[], 0n, chain.bucket];
      }
      chains.push(chain);
      steps += chain.lastSeq - chain.sealedSeq;
    }
  }
  yield { buckets: [first, LAST_BUCKET], chains };
}

interface ListedChain extends ProvedChain {
  readonly lastSeq: bigint;
}

async function* pagesOf(
  client: Pool | PoolClient,
  [first, last]: Slice["buckets"],
  all: boolean,
): AsyncGenerator<ListedChain[]> {
  let after: ListedChain | undefined;
  for (let bucket = first; bucket <= last; ) {
    const page = await listChains(client, { bucket, after: after?.accountId ?? null, limit: PAGE });
    const chains = page.map(({ sealedSeq, sealedUntil, ...chain }) => {
      const from = all ? NO_SEAL : { sealedSeq: sealedSeq ?? 0n, sealedUntil: sealedUntil ?? 0n };
      return { ...chain, ...from };
    });
    yield chains;
    const isLast = page.length < PAGE;
    after = isLast ? undefined : chains.at(-1);
    if (isLast) bucket += 1;
  }
}

const NO_SEAL = { sealedSeq: 0n, sealedUntil: 0n };
const NOTHING: LedgerReport = {
  differences: [],
  ...{ accounts: 0n, holds: 0n, openHolds: 0n, chargedCredits: 0n, chargedCost: "0", lostCost: "0" },
};

function sumOf(one: LedgerReport, other: LedgerReport): LedgerReport {
  return {
    differences: [...one.differences, ...other.differences],
    accounts: one.accounts + other.accounts,
    holds: one.holds + other.holds,
    openHolds: one.openHolds + other.openHolds,
    chargedCredits: one.chargedCredits + other.chargedCredits,
    chargedCost: String(BigInt(one.chargedCost) + BigInt(other.chargedCost)),
    lostCost: String(BigInt(one.lostCost) + BigInt(other.lostCost)),
  };
}
