// Dump store owns the rows of a dump of the ledger, as the checker of dumps reads them.
import type { PoolClient } from "@gr/runtime";

const ROWS = {
  step: "SELECT to_jsonb(t)::text AS line FROM step t ORDER BY bucket, account_id, seq",
  seal: "SELECT to_jsonb(t)::text AS line FROM seal t ORDER BY bucket, account_id, ends_at",
} as const;

export async function dumpLines(client: PoolClient, table: keyof typeof ROWS): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(ROWS[table]);
  return rows.map(({ line }) => line);
}
