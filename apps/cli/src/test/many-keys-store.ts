// Keys that nobody minted, and their spenders, as many as a test likes.
import { connectPostgres, createLogger } from "@gr/runtime";

export async function addKeys(databaseUrl: string, accountId: string, count: number): Promise<void> {
  const log = createLogger("silent", "test");
  const pool = await connectPostgres({ url: databaseUrl, poolSize: 2, schema: "keys", log });
  try {
    await pool.query(
      `WITH made AS (
         INSERT INTO keys.api_key (id, account_id, name, kind, digest, hint, created_at)
         SELECT gen_random_uuid(), $1, 'k' || i, 'normal', sha256(convert_to(gen_random_uuid()::text, 'UTF8')), 'gr_live_…', now()
           FROM generate_series(1, $2) i
         RETURNING id, name, created_at)
       INSERT INTO billing.spender (id, account_id, name, period, active, created_at, revision)
       SELECT id, $1, name, 'lifetime', true, created_at, 1 FROM made`,
      [accountId, count],
    );
  } finally {
    await pool.end();
  }
}
