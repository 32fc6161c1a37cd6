// Keys that nobody minted, and their spenders, as many as a test likes.
import { connectPostgres, createLogger } from "@gr/runtime";

const STEPS = `INSERT INTO billing.step (tx, bucket, account_id, seq, id, kind, at, credits, charge, cost, credited, debited, held, attempt, detail)
  SELECT pg_current_xact_id()::text::bigint, l.bucket, l.account_id, l.seq + row_number() OVER (ORDER BY made.id), made.id, 14, l.at,
    0, 0, 0, l.credited, l.debited, l.held, 0,
    json_build_object('definition', json_build_object('id', made.id, 'parentId', NULL, 'level', 'key', 'name', made.name, 'limit', NULL,
      'period', 'lifetime', 'expiresAt', NULL, 'active', true, 'createdAt', l.at, 'revision', json_build_object('$int', '1')))
  FROM made CROSS JOIN (SELECT * FROM billing.step WHERE account_id = $1 ORDER BY seq DESC LIMIT 1) l`;

export async function addKeys(databaseUrl: string, accountId: string, count: number): Promise<void> {
  const log = createLogger("silent", "test");
  const pool = await connectPostgres({ url: databaseUrl, poolSize: 2, schema: "keys", log });
  try {
    await pool.query(
      `WITH made AS (
         INSERT INTO keys.api_key (id, account_id, name, kind, digest, hint, created_at)
         SELECT gen_random_uuid(), $1, 'k' || i, 'normal', sha256(convert_to(gen_random_uuid()::text, 'UTF8')), 'gr_live_…', now()
           FROM generate_series(1, $2) i
         RETURNING id, name)
       ${STEPS}`,
      [accountId, count],
    );
  } finally {
    await pool.end();
  }
}
