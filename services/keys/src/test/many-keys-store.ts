// Keys that nobody minted, as many as a test likes.
import type pg from "pg";

export async function addKeys(db: pg.Pool, accountId: string, count: number): Promise<void> {
  await db.query(
    `INSERT INTO keys.api_key (id, account_id, name, kind, digest, hint, created_at)
     SELECT gen_random_uuid(), $1, 'k' || i, 'normal', sha256(convert_to(gen_random_uuid()::text, 'UTF8')), 'gr_live_…', now()
       FROM generate_series(1, $2) i`,
    [accountId, count],
  );
}
