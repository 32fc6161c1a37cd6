// Seal months owns the rounds that seal closed months. A month is closed a day after its end by two clocks; the times of an account never
// fall, so a later step of the month would need a clock that is a day slow. Its step would then belong to the next seal.
import { windowEnd, windowStart } from "@gr/ledger";
import { carefulTime, type Pool, type PoolClient } from "@gr/runtime";
import {
  type Chain,
  dueBucket,
  firstStepSince,
  foldMonth,
  latestSeal,
  listAccounts,
  type NewSeal,
  type Progress,
  storeSeals,
  timeOfStep,
  withSealClient,
} from "./seal-store.ts";

/** Time after the end of a month until its steps are sealed: clocks of processes are wrong by less. */
export const MARGIN_MS = 86_400_000;
/** Accounts, and months of accounts, of one transaction. */
const MOST_ACCOUNTS = 200;
const MOST_SEALS = 200;
/** Steps after which a transaction begins with the seals so far. */
const MOST_STEPS = 200_000n;

/** @returns Unix milliseconds of the end of the latest closed month */
export function closedUntil(now: number): number {
  const start = windowStart("month", now - MARGIN_MS);
  if (start === null) throw new Error("A month has no start.");
  return start;
}

/** Seals all closed months, one bucket at a time. Several processes may seal at once. @param now Unix milliseconds */
export async function sealClosedMonths(pool: Pool, now: number, stopping: AbortSignal): Promise<void> {
  await sealUntil(pool, closedUntil(await carefulTime(pool, now)), stopping);
}

/** Seals the months up to this end. No process may write a step of an earlier time any more. @param until Unix milliseconds */
export async function sealUntil(pool: Pool, until: number, stopping: AbortSignal): Promise<void> {
  await withSealClient(pool, async (client) => {
    while (!stopping.aborted) {
      const position = await dueBucket(client, until);
      if (position === undefined) return;
      await sealSlice(client, { ...position, target: position.target ?? BigInt(until) }, position, stopping);
    }
  });
}

async function sealSlice(
  client: PoolClient,
  pass: Progress,
  stored: Progress,
  stopping: AbortSignal,
): Promise<void> {
  const { bucket, target } = pass;
  if (target === null) return;
  const accounts = await listAccounts(client, { bucket, after: pass.accountId, limit: MOST_ACCOUNTS });
  const seals: NewSeal[] = [];
  let reached = pass.accountId;
  let steps = 0n;
  let isComplete = accounts.length < MOST_ACCOUNTS;
  for (const accountId of accounts) {
    if (stopping.aborted || steps >= MOST_STEPS || seals.length >= MOST_SEALS) {
      isComplete = false;
      break;
    }
    for (const each of await sealsOf(client, { bucket, accountId }, target)) {
      seals.push(each);
      steps += each.seal.lastSeq - each.seal.firstSeq + 1n;
    }
    reached = accountId;
  }
  const next = isComplete
    ? { bucket, endsAt: target, target: null, accountId: null }
    : { ...pass, accountId: reached };
  await storeSeals(client, stored, next, seals);
}

/** @returns the missing seals of one account, in order */
async function sealsOf(client: PoolClient, chain: Chain, target: bigint): Promise<NewSeal[]> {
  const seals: NewSeal[] = [];
  let before = await latestSeal(client, chain);
  for (;;) {
    const at = await timeOfStep(client, chain, (before?.lastSeq ?? 0n) + 1n);
    if (at === undefined) return seals;
    const endsAt = endOfMonth(at, before?.endsAt);
    if (endsAt > target) return seals;
    const lastSeq = (await firstStepSince(client, chain, endsAt)) - 1n;
    const seal = await foldMonth(client, chain, before, { endsAt, lastSeq });
    if (seal === undefined) {
      throw new Error(`The steps of account ${chain.accountId} have a gap; "ledger verify" names it.`);
    }
    seals.push({ chain, seal });
    before = seal;
  }
}

/** A step that a slow clock has dated into a sealed month belongs to the next one. */
function endOfMonth(at: bigint, sealedUntil: bigint | undefined): bigint {
  const from = sealedUntil === undefined || at >= sealedUntil ? at : sealedUntil;
  const start = windowStart("month", Number(from));
  if (start === null) throw new Error("A month has no start.");
  return BigInt(windowEnd("month", start));
}
