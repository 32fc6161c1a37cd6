// Copied-steps store owns copies of distributed rows on the coordinator. A copy is a temporary table with the name of its table, which it
// hides until the transaction ends. So the texts of followers and of the proof join it with tables that are on the coordinator alone.
import type { PoolClient } from "@gr/runtime";
import type { Shards } from "./shard-store.ts";

type Queryable = Pick<PoolClient, "query">;

/** Steps of a range, with their places and the attempts between both. Steps of the alias s are the range. */
const SOURCES = (step: string, range: string) => [
  `SELECT s.* FROM ${step} s WHERE ${range}`,
  `SELECT p.* FROM ${step} s JOIN ${step} p ON p.bucket = s.bucket AND p.account_id = s.account_id AND p.seq = s.place_seq
    WHERE p.bucket = ANY ($1::int[]) AND ${range}`,
  `SELECT x.* FROM ${step} s JOIN ${step} x ON x.bucket = s.bucket AND x.account_id = s.account_id
      AND x.seq > s.place_seq AND x.seq < s.seq AND x.id = s.id AND x.kind IN (4, 5, 6, 7)
    WHERE x.bucket = ANY ($1::int[]) AND ${range} AND (s.attempt > 1 OR s.kind = 8)`,
];

/** A condition on steps with the alias s, and its values, of which the first one is the buckets of one shard. */
export interface StepCondition {
  readonly range: string;
  readonly values: readonly unknown[];
}

/** Works with a copy of these steps in the place of all steps. */
export async function withCopyOfSteps(
  client: Queryable,
  { schema }: Shards,
  { range, values }: StepCondition,
  work: () => Promise<void>,
): Promise<void> {
  await createCopy(client, schema, "step", "INCLUDING INDEXES");
  for (const source of SOURCES(`${schema}.step`, range)) {
    await client.query(`INSERT INTO pg_temp.step ${source} ON CONFLICT DO NOTHING`, [...values]);
  }
  await work();
  await client.query("DROP TABLE pg_temp.step");
}

/** Copies the rows of buckets of these tables. */
export async function copyTables(
  client: Queryable,
  { schema }: Shards,
  tables: readonly string[],
  buckets: readonly number[],
): Promise<void> {
  for (const table of tables) {
    await createCopy(client, schema, table, "");
    await client.query(
      `INSERT INTO pg_temp.${table} SELECT * FROM ${schema}.${table} WHERE bucket = ANY ($1::int[])`,
      [buckets],
    );
  }
}

async function createCopy(client: Queryable, schema: string, table: string, parts: string): Promise<void> {
  await client.query(`CREATE TEMPORARY TABLE ${table} (LIKE ${schema}.${table} ${parts}) ON COMMIT DROP`);
}
