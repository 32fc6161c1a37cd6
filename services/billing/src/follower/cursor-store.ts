// Cursor store owns the statements on the cursors of readers, and the predicate that selects the steps of a range.
import type { PoolClient } from "@gr/runtime";
import { readSnapshot, type Snapshot, type StepRange, snapshotText } from "./step-range.ts";

/** Buckets with one position. */
export interface Position {
  readonly buckets: readonly number[];
  readonly seen: Snapshot;
  /** Snapshot of the statement that read the position; in a transaction of one snapshot, of all its statements. */
  readonly now: Snapshot;
}

/** Steps of a range, of the alias `s`. Parameters: `rangeValues`. */
export const IN_RANGE =
  "s.bucket = ANY ($1::int[]) AND (s.tx >= $2 AND s.tx < $3 OR s.tx = ANY ($4::bigint[]))";

/** Plans by index, also while the statistics of a growing table are old. */
const PLANNER = "SET LOCAL enable_seqscan = off; SET LOCAL jit = off";

const PEEK = `SELECT array_agg(bucket) AS buckets, seen::text AS seen, pg_current_snapshot()::text AS now
  FROM step_cursor WHERE reader = $1 GROUP BY seen::text`;

/** SKIP LOCKED: another process follows the other buckets at this moment. */
const LOCK = `SELECT array_agg(bucket) AS buckets, seen::text AS seen, pg_current_snapshot()::text AS now FROM (
    SELECT bucket, seen FROM step_cursor WHERE reader = $1 ORDER BY bucket FOR UPDATE SKIP LOCKED) own
  GROUP BY seen::text`;

const FIRST = "SELECT min(s.tx) AS first FROM step s WHERE s.bucket = ANY ($1::int[]) AND s.tx >= $2";

const HAS_LATE =
  "SELECT EXISTS (SELECT FROM step s WHERE s.bucket = ANY ($1::int[]) AND s.tx = ANY ($2::bigint[])) AS found";

const MOVE = "UPDATE step_cursor SET seen = $3::pg_snapshot WHERE bucket = ANY ($1::int[]) AND reader = $2";

/** Transactions of another server would count as later ones of this server. */
const FORGET_TRANSACTIONS = "UPDATE step SET tx = 0 WHERE bucket = ANY ($1::int[]) AND tx >= $2";

interface PositionRow {
  readonly buckets: number[];
  readonly seen: string;
  readonly now: string;
}

/** Begins a transaction whose statements see one snapshot. */
export async function openRound(client: PoolClient): Promise<void> {
  await client.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await client.query(PLANNER);
}

export async function peekPositions(client: PoolClient, reader: string): Promise<Position[]> {
  return (await client.query<PositionRow>(PEEK, [reader])).rows.map(positionOf);
}

/**
 * Locks the cursors that no other process has locked.
 * @throws with SQLSTATE 40001 if another process has moved one since the snapshot of the transaction
 */
export async function lockPositions(client: PoolClient, reader: string): Promise<Position[]> {
  return (await client.query<PositionRow>(LOCK, [reader])).rows.map(positionOf);
}

/** @returns the earliest transaction with a step behind the position; undefined if there is none */
export async function firstTransaction(
  client: PoolClient,
  { buckets, seen }: Position,
): Promise<bigint | undefined> {
  const { rows } = await client.query<{ first: bigint | null }>(FIRST, [buckets, seen.end]);
  return rows[0]?.first ?? undefined;
}

/** A transaction that ran when the position was stored has visible steps now. */
export async function hasLateSteps(client: PoolClient, { buckets, seen }: Position): Promise<boolean> {
  if (seen.running.length === 0) return false;
  const { rows } = await client.query<{ found: boolean }>(HAS_LATE, [buckets, seen.running]);
  return rows[0]?.found === true;
}

export async function movePosition(
  client: PoolClient,
  reader: string,
  buckets: readonly number[],
  next: Snapshot,
): Promise<void> {
  await client.query(MOVE, [buckets, reader, snapshotText(next)]);
}

export async function forgetTransactions(
  client: Pick<PoolClient, "query">,
  buckets: readonly number[],
  from: bigint,
): Promise<void> {
  await client.query(FORGET_TRANSACTIONS, [buckets, from]);
}

export function rangeValues(buckets: readonly number[], { from, until, late }: StepRange): unknown[] {
  return [buckets, from, until, late];
}

function positionOf({ buckets, seen, now }: PositionRow): Position {
  return { buckets, seen: readSnapshot(seen), now: readSnapshot(now) };
}
