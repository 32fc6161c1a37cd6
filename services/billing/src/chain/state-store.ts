// State store owns the copies of accounts from which a cold start continues. They have no power: a start from an older copy
// replays more steps and ends in the same state.
import type { Account, Id, Step } from "@gr/ledger";
import type { PoolClient } from "@gr/runtime";
import { readByShard } from "../shards/shard-store.ts";
import { bucketOf } from "./bucket.ts";
import { type CachedAccount, jump, newCachedAccount, replay } from "./cached-account.ts";
import { addBudget, budgetText, holdsText, readBudget, readHolds } from "./state-text.ts";
import { LONGEST_TAIL, readTails } from "./step-store.ts";

/** Steps of an account between two of its stored states. */
const STEPS_BETWEEN = 1_000;

/** One statement, so account and budgets are of one snapshot. */
const STATES = `SELECT s.account_id, s.seq, s.at, s.credited, s.adjusted, s.debited, s.held, s.suspended, s.free_day, s.free_used,
    s.open_holds, s.carried_at, ARRAY (
      SELECT b.content FROM budget_state b
       WHERE b.bucket = ANY ($1::int[]) AND b.bucket = s.bucket AND b.account_id = s.account_id ORDER BY b.budget) AS budgets
  FROM unnest($2::int[], $3::uuid[]) AS asked (bucket, account_id)
  JOIN account_state s ON s.bucket = asked.bucket AND s.account_id = asked.account_id
 WHERE s.bucket = ANY ($1::int[])`;

/** An older state never replaces a newer one. */
const STORE_ACCOUNT = `INSERT INTO account_state AS known (bucket, account_id, seq, at, credited, adjusted, debited, held,
    suspended, free_day, free_used, open_holds, carried_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  ON CONFLICT (bucket, account_id) DO UPDATE SET seq = excluded.seq, at = excluded.at, credited = excluded.credited,
    adjusted = excluded.adjusted, debited = excluded.debited, held = excluded.held, suspended = excluded.suspended, free_day = excluded.free_day,
    free_used = excluded.free_used, carried_at = excluded.carried_at, open_holds = excluded.open_holds
  WHERE known.seq < excluded.seq`;

const STORE_BUDGETS = `INSERT INTO budget_state AS known (bucket, account_id, seq, budget, content)
  SELECT b.bucket, $2, $3, u.budget, u.content FROM ledger_bucket b, unnest($4::int[], $5::text[]) AS u (budget, content)
   WHERE b.bucket = $1
  ON CONFLICT (bucket, account_id, budget) DO UPDATE SET seq = excluded.seq, content = excluded.content
  WHERE known.seq < excluded.seq`;

/** Row of `account_state`. */
export interface StateRow {
  readonly account_id: string;
  readonly seq: bigint;
  readonly at: bigint;
  readonly credited: bigint;
  readonly adjusted: bigint;
  readonly debited: bigint;
  readonly held: bigint;
  readonly suspended: boolean;
  readonly free_day: bigint;
  readonly free_used: number;
  readonly open_holds: string;
  readonly carried_at: bigint;
}

interface StateWithBudgets extends StateRow {
  readonly budgets: string[];
}

/** Reads accounts as they are after their stored steps. An id without steps is an account that is not open. */
export async function startCold(
  client: PoolClient,
  accountIds: readonly Id[],
): Promise<Map<Id, CachedAccount>> {
  const accounts = new Map(accountIds.map((id) => [id, newCachedAccount(id)]));
  for (const stored of await readStates(client, accountIds)) accounts.set(stored.account.id, stored);
  await catchUp(client, accounts.values());
  return accounts;
}

/**
 * Applies the steps that other writers have stored. A memory that is far behind continues from the stored state.
 * @returns the accounts that changed
 */
export async function catchUp(
  client: PoolClient,
  accounts: Iterable<CachedAccount>,
): Promise<Set<CachedAccount>> {
  const changed = new Set<CachedAccount>();
  let behind = new Map(Array.from(accounts, (cached) => [cached.account.id, cached]));
  for (let round = 1; behind.size > 0; round += 1) {
    const counts = new Map<Id, number>();
    const known = new Map(Array.from(behind, ([id, { account }]) => [id, account.seq]));
    for (const step of await readTails(client, known)) {
      const cached = behind.get(step.accountId);
      if (cached === undefined) continue;
      replay(cached, step);
      changed.add(cached);
      counts.set(step.accountId, (counts.get(step.accountId) ?? 0) + 1);
    }
    behind = new Map(Array.from(behind).filter(([id]) => counts.get(id) === LONGEST_TAIL));
    if (round === 1 && behind.size > 0) await jumpToStates(client, behind);
  }
  return changed;
}

/**
 * Does the same for a memory that outlives connections: a promoted standby can lack the latest step of an account in memory.
 * Returns accounts with a latest step that the table does not have: their memory is useless.
 */
export async function catchUpOrLose(
  client: PoolClient,
  accounts: readonly CachedAccount[],
): Promise<Set<CachedAccount>> {
  const lost = new Set<CachedAccount>();
  if (accounts.length === 0) return lost;
  const before = new Map(accounts.map(({ account: { id, seq } }) => [id, Math.max(seq - 1, 0)]));
  const tails = Map.groupBy(await readTails(client, before), ({ accountId }) => accountId);
  const behind: CachedAccount[] = [];
  for (const cached of accounts) {
    const { account } = cached;
    const tail = tails.get(account.id) ?? [];
    const [latest] = tail;
    if (account.seq > 0 && !isLatest(account, latest)) {
      lost.add(cached);
      continue;
    }
    for (const step of tail) if (step.seq > account.seq) replay(cached, step);
    if (tail.length === LONGEST_TAIL) behind.push(cached);
  }
  await catchUp(client, behind);
  return lost;
}

/** Number, time and totals of the latest step of an account. */
export type LatestStep = Pick<Step, "seq" | "at" | "credited" | "debited" | "held">;

export function isLatest(
  { seq, at, credited, debited, held }: Account,
  step: LatestStep | undefined,
): boolean {
  if (step?.seq !== seq || step.at !== at) return false;
  return step.credited === credited && step.debited === debited && step.held === held;
}

async function jumpToStates(client: PoolClient, accounts: ReadonlyMap<Id, CachedAccount>): Promise<void> {
  for (const stored of await readStates(client, [...accounts.keys()])) {
    const cached = accounts.get(stored.account.id);
    if (cached !== undefined && cached.account.seq < stored.account.seq) jump(cached, stored);
  }
}

async function readStates(client: PoolClient, accountIds: readonly Id[]): Promise<CachedAccount[]> {
  const rows = await readByShard(client, accountIds, bucketOf, async (ids) => {
    const buckets = ids.map(bucketOf);
    const values = [[...new Set(buckets)], buckets, ids];
    return (await client.query<StateWithBudgets>({ name: "states", text: STATES, values })).rows;
  });
  return rows.map(readState);
}

/** A copy is due by the number of steps, so a tail has a bound; an account with many open holds is copied more rarely. */
export function isStateDue({ account, storedSeq }: CachedAccount, stepsBetween = STEPS_BETWEEN): boolean {
  return account.seq - storedSeq >= Math.max(stepsBetween, account.open.size);
}

/** @param cached equals its stored steps */
export async function storeState(client: PoolClient, cached: CachedAccount): Promise<void> {
  const { account, changed } = cached;
  const bucket = bucketOf(account.id);
  const budgets = account.budgets.filter(({ no }) => changed.has(no));
  await client.query("BEGIN");
  try {
    await client.query({ name: "store_account", text: STORE_ACCOUNT, values: valuesOf(account, bucket) });
    await client.query({
      name: "store_budgets",
      text: STORE_BUDGETS,
      values: [bucket, account.id, account.seq, budgets.map(({ no }) => no), budgets.map(budgetText)],
    });
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
  cached.storedSeq = account.seq;
  changed.clear();
}

function valuesOf(account: Account, bucket: number): unknown[] {
  const { id, seq, at, credited, adjusted, debited, held, suspended, freeDay, freeUsed, carriedAt, open } =
    account;
  const holds = holdsText(open.values());
  return [
    bucket,
    id,
    seq,
    at,
    credited,
    adjusted,
    debited,
    held,
    suspended,
    freeDay,
    freeUsed,
    holds,
    carriedAt,
  ];
}

function readState(row: StateWithBudgets): CachedAccount {
  const cached = newCachedAccount(row.account_id);
  const { account } = cached;
  account.seq = Number(row.seq);
  account.at = Number(row.at);
  account.credited = row.credited;
  account.adjusted = row.adjusted;
  account.debited = row.debited;
  account.held = row.held;
  account.suspended = row.suspended;
  account.freeDay = Number(row.free_day);
  account.freeUsed = row.free_used;
  account.carriedAt = Number(row.carried_at);
  for (const hold of readHolds(row.open_holds)) account.open.set(hold.id, hold);
  for (const text of row.budgets) {
    addBudget(account, readBudget(text));
  }
  cached.storedSeq = account.seq;
  return cached;
}
