// Cursor store owns the statements on the cursors of readers, and the predicate that selects the steps of a range.
import type { PoolClient } from "@gr/runtime";
import { nodesOf, type Shards, transactionOn } from "../shards/shard-store.ts";
import { readSnapshot, type Snapshot, type StepRange, snapshotText } from "./step-range.ts";

/** Buckets with one position on one server. */
export interface Position {
  readonly buckets: readonly number[];
  /** 0, or the node of Citus that counted the transactions. */
  readonly node: number;
  readonly seen: Snapshot;
  /** Snapshot of the statement that read the position; in a transaction of one snapshot, of all its statements. */
  readonly now: Snapshot;
}

/** Steps of a range, of the alias `s`. Parameters: `rangeValues`. */
export const IN_RANGE =
  "s.bucket = ANY ($1::int[]) AND (s.tx >= $2 AND s.tx < $3 OR s.tx = ANY ($4::bigint[])) AND s.tx <> ALL ($5::bigint[])";

/** Plans by index, also while the statistics of a growing table are old. */
const PLANNER = "SET LOCAL enable_seqscan = off; SET LOCAL jit = off";

const PEEK = `SELECT array_agg(bucket) AS buckets, 0 AS node, seen::text AS seen, pg_current_snapshot()::text AS now
  FROM step_cursor WHERE reader = $1 GROUP BY seen::text`;

/** SKIP LOCKED: another process follows the other buckets at this moment. The lock of a bucket is valid for all nodes. */
const LOCK = `SELECT array_agg(bucket) AS buckets, 0 AS node, seen::text AS seen, pg_current_snapshot()::text AS now FROM (
    SELECT bucket, seen FROM step_cursor WHERE reader = $1 ORDER BY bucket FOR UPDATE SKIP LOCKED) own
  GROUP BY seen::text`;

const ON_NODES = `SELECT array_agg(bucket) AS buckets, node, seen::text AS seen, '' AS now
  FROM node_cursor WHERE reader = $1 AND bucket = ANY ($2::int[]) GROUP BY node, seen::text`;

const FIRST =
  "SELECT min(s.tx) AS first FROM step s WHERE s.bucket = ANY ($1::int[]) AND s.tx >= $2 AND s.tx < $3";

const LAST =
  "SELECT max(s.tx) AS last FROM step s WHERE s.bucket = ANY ($1::int[]) AND s.tx >= $2 AND s.tx < $3";

const HAS_LATE =
  "SELECT EXISTS (SELECT FROM step s WHERE s.bucket = ANY ($1::int[]) AND s.tx = ANY ($2::bigint[])) AS found";

const MOVE = "UPDATE step_cursor SET seen = $3::pg_snapshot WHERE bucket = ANY ($1::int[]) AND reader = $2";

const MOVE_ON_NODE = `INSERT INTO node_cursor (bucket, reader, seen, node)
  SELECT bucket, $2, $3::pg_snapshot, $4 FROM unnest($1::int[]) bucket
  ON CONFLICT (bucket, reader, node) DO UPDATE SET seen = excluded.seen`;

/** Transactions of another server would count as later ones of this server. */
const FORGET_TRANSACTIONS = "UPDATE step SET tx = 0 WHERE bucket = ANY ($1::int[]) AND tx >= $2";

interface PositionRow {
  readonly buckets: number[];
  readonly node: number;
  readonly seen: string;
  readonly now: string;
}

/**
 * Begins a transaction whose statements see one snapshot. Those of a distributed ledger see the present: a worker reports its snapshot on one
 * connection and its steps perhaps on another, and the steps must not be older.
 */
export async function openRound(client: PoolClient, { isDistributed }: Shards): Promise<void> {
  if (!isDistributed) await client.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await client.query(PLANNER);
}

export async function peekPositions(client: PoolClient, reader: string, shards: Shards): Promise<Position[]> {
  const { rows } = await client.query<PositionRow>(PEEK, [reader]);
  return shards.isDistributed ? await onNodes(client, reader, rows, shards) : rows.map(positionOf);
}

/**
 * Locks the cursors that no other process has locked.
 * @throws with SQLSTATE 40001 if another process has moved one since the snapshot of the transaction
 */
export async function lockPositions(client: PoolClient, reader: string, shards: Shards): Promise<Position[]> {
  const { rows } = await client.query<PositionRow>(LOCK, [reader]);
  if (!shards.isDistributed) return rows.map(positionOf);
  return await onNodes(client, reader, rows, shards);
}

/** Position before all transactions of a node. */
function firstOn(node: number): Snapshot {
  return endOf(transactionOn(node, 3n));
}

/**
 * Positions by shard, with the present of the node. Transactions of a node that had the shard before are all over. Their positions are
 * the first ones, because the steps of an account are applied in their order. A shard can move before the first round on a node, so
 * every node has a position.
 */
async function onNodes(
  client: PoolClient,
  reader: string,
  before: readonly PositionRow[],
  shards: Shards,
): Promise<Position[]> {
  const left: Position[] = [];
  const present: Position[] = [];
  const all = before.flatMap(({ buckets }) => buckets);
  const rows = [...before, ...(await client.query<PositionRow>(ON_NODES, [reader, all])).rows];
  const { places, nodes } = await nodesOf(client, shards, all);
  for (const { buckets: ofShard, node: here, now: text } of places) {
    const known = rows.map(({ buckets, node, seen }) => ({
      buckets: buckets.filter((bucket) => ofShard.includes(bucket)),
      node,
      seen: readSnapshot(seen),
    }));
    const first = [...nodes].map((node) => {
      const stored = new Set(known.flatMap((position) => (position.node === node ? position.buckets : [])));
      return { buckets: ofShard.filter((bucket) => !stored.has(bucket)), node, seen: firstOn(node) };
    });
    for (const position of [...known, ...first]) {
      if (position.buckets.length === 0 || isOver(position)) continue;
      if (position.node === here) present.push({ ...position, now: snapshotOn(here, readSnapshot(text)) });
      else left.push({ ...position, now: await lastOn(client, position) });
    }
  }
  return [...left, ...present];
}

function snapshotOn(node: number, { start, end, running }: Snapshot): Snapshot {
  const on = (transaction: bigint) => transactionOn(node, transaction);
  return { start: on(start), end: on(end), running: running.map(on) };
}

/** The PostgreSQL of before the distribution has no later transactions. */
function isOver({ node, seen }: Omit<Position, "now">): boolean {
  return seen.end >= transactionOn(node + 1, 0n);
}

/** The end of the transactions of a node that had these buckets before. */
async function lastOn(client: PoolClient, { buckets, node, seen }: Omit<Position, "now">): Promise<Snapshot> {
  if (node === 0) return endOf(transactionOn(1, 3n));
  const values = [buckets, seen.end, transactionOn(node + 1, 0n)];
  const { rows } = await client.query<{ last: bigint | null }>(LAST, values);
  const last = rows[0]?.last ?? null;
  return endOf(last === null ? seen.end : last + 1n);
}

function endOf(end: bigint): Snapshot {
  return { start: end, end, running: [] };
}

/** @returns the earliest transaction with a step behind the position; undefined if there is none */
export async function firstTransaction(
  client: PoolClient,
  { buckets, seen, now }: Position,
): Promise<bigint | undefined> {
  const { rows } = await client.query<{ first: bigint | null }>(FIRST, [buckets, seen.end, now.end]);
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
  { buckets, node }: Position,
  next: Snapshot,
): Promise<void> {
  const values = [buckets, reader, snapshotText(next)];
  if (node === 0) await client.query(MOVE, values);
  else await client.query(MOVE_ON_NODE, [...values, node]);
}

export async function forgetTransactions(
  client: Pick<PoolClient, "query">,
  buckets: readonly number[],
  from: bigint,
): Promise<void> {
  await client.query(FORGET_TRANSACTIONS, [buckets, from]);
}

export function rangeValues(
  buckets: readonly number[],
  { from, until, late, running }: StepRange,
): unknown[] {
  return [buckets, from, until, late, running];
}

function positionOf({ buckets, node, seen, now }: PositionRow): Position {
  return { buckets, node, seen: readSnapshot(seen), now: readSnapshot(now) };
}
