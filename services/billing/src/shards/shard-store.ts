// Shard store owns the groups of buckets that one statement may name. On one PostgreSQL all buckets are one group. If Citus has
// distributed the ledger, the buckets of one shard are a group: a statement about two shards is refused, or commits in two phases.
import type { PoolClient } from "@gr/runtime";

export const BUCKETS: readonly number[] = Array.from({ length: 256 }, (_, bucket) => bucket);

/** Node numbers are in the bits of a transaction id from this one on. */
const NODE_BITS = 48n;

export interface Shards {
  readonly isDistributed: boolean;
  /** Schema of the ledger's tables. */
  readonly schema: string;
  /** Shard of each bucket. */
  readonly byBucket: readonly number[];
}

type Queryable = Pick<PoolClient, "query">;

const LEDGER = `SELECT relnamespace::regnamespace::text AS schema, EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS "hasCitus"
  FROM pg_class WHERE oid = 'step'::regclass`;

const SHARDS = `SELECT get_shard_id_for_distribution_column(logicalrelid, bucket)::int AS shard
  FROM pg_dist_partition, generate_series(0, 255) bucket WHERE logicalrelid = 'step'::regclass ORDER BY bucket`;

/** Server of each shard, and its transactions at present. */
const PLACES = `SELECT bucket, ledger_node(bucket) AS node, pg_current_snapshot()::text AS now FROM ledger_bucket
  WHERE bucket = ANY ($1::int[])`;

const NODES = "SELECT groupid + 1 AS node FROM pg_dist_node WHERE shouldhaveshards AND noderole = 'primary'";

const known = new WeakMap<Queryable, Promise<Shards>>();

/** Reads the shards once for each connection or pool. The ledger is distributed before billing opens its connections. */
export function shardsOf(client: Queryable): Promise<Shards> {
  const before = known.get(client);
  if (before !== undefined) return before;
  const reading = readShards(client);
  known.set(client, reading);
  reading.catch(() => known.delete(client));
  return reading;
}

async function readShards(client: Queryable): Promise<Shards> {
  const { rows } = await client.query<{ schema: string; hasCitus: boolean }>(LEDGER);
  const { schema, hasCitus } = rows[0] ?? { schema: "", hasCitus: false };
  const shards = hasCitus ? (await client.query<{ shard: number }>(SHARDS)).rows : [];
  return { schema, isDistributed: shards.length > 0, byBucket: shards.map(({ shard }) => shard) };
}

/** @returns the items by shard of their bucket; one group on one PostgreSQL, none without items */
export function groupByShard<Item>(
  { byBucket }: Shards,
  items: readonly Item[],
  bucketOf: (item: Item) => number,
): (readonly Item[])[] {
  if (items.length === 0) return [];
  return [...Map.groupBy(items, (item) => byBucket[bucketOf(item)]).values()];
}

/** Reads rows with one statement for each shard. */
export async function readByShard<Item, Row>(
  client: Queryable,
  items: readonly Item[],
  bucketOf: (item: Item) => number,
  read: (items: readonly Item[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const group of groupByShard(await shardsOf(client), items, bucketOf))
    rows.push(...(await read(group)));
  return rows;
}

/** Buckets of one shard, on their node. */
export interface Place {
  readonly buckets: readonly number[];
  readonly node: number;
  /** `pg_snapshot` of the node, in its own numbers. */
  readonly now: string;
}

/** @returns the shards of these buckets with their nodes at present, and all nodes that can have had them */
export async function nodesOf(
  client: Queryable,
  shards: Shards,
  buckets: readonly number[],
): Promise<{ places: Place[]; nodes: ReadonlySet<number> }> {
  const groups = groupByShard(shards, buckets, (bucket) => bucket);
  const firsts = groups.flatMap(([first]) => first ?? []);
  const { rows } = await client.query<{ bucket: number; node: number; now: string }>(PLACES, [firsts]);
  const places = groups.map((group) => {
    const place = rows.find(({ bucket }) => bucket === group[0]);
    if (place === undefined) throw new Error(`Bucket ${group[0]} has no row in ledger_bucket.`);
    return { buckets: group, node: place.node, now: place.now };
  });
  const { rows: nodes } = await client.query<{ node: number }>(NODES);
  return { places, nodes: new Set(nodes.map(({ node }) => node)) };
}

/** Transactions of a node as steps and positions name them. */
export function transactionOn(node: number, transaction: bigint): bigint {
  return (BigInt(node) << NODE_BITS) + transaction;
}
