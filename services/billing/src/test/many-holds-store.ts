// Many-holds store owns any number of holds of two accounts, written as rows: open and captured ones of the chain, and ended ones of
// before. No test verifies this ledger.
import type { Id } from "@gr/ledger";
import type { PoolClient } from "@gr/runtime";

const BUCKET = "get_byte(uuid_send(a.id), 15)";
const ACCOUNTS = "unnest(ARRAY[$1::uuid, $2::uuid]) AS a (id)";

const STEPS = `INSERT INTO step (tx, bucket, account_id, seq, id, kind, at, credits, charge, cost, place_seq, credited, debited, held,
    attempt, billed_by, deadline_at, service, provider, upstream_model, model, price_version)
  SELECT 1, ${BUCKET}, a.id, 2 * n + e - 1, md5(a.id::text || n)::uuid, CASE e WHEN 0 THEN 2 ELSE 5 END, n, 1 - 2 * e, 0, e,
    CASE e WHEN 1 THEN 2 * n - 1 END, 1000000, 0, 1 - e, 1, CASE e WHEN 1 THEN 'p' END, n, 's', 'p', 'p', 'm', '1'
    FROM ${ACCOUNTS}, generate_series(1, $3::int) n, generate_series(0, 1) e`;

const OPEN = `INSERT INTO open_hold (bucket, account_id, place_seq, hold_id, placed_at, deadline_at, leased_until, service)
  SELECT ${BUCKET}, a.id, n, gen_random_uuid(), n, n, 0, 's' FROM ${ACCOUNTS}, generate_series(1, $3::int) n`;

const BEFORE = `INSERT INTO hold (id, account_id, spender_id, credits, placed_at, deadline_at, window_no, attempt, state, charge, cost,
    service, provider, upstream_model, model, price_version)
  SELECT gen_random_uuid(), a.id, a.id, 1, to_timestamp(n), to_timestamp(n), 1, 1, 'captured', 1, 1, 's', 'p', 'p', 'm', '1'
    FROM ${ACCOUNTS}, generate_series(1, $3::int) n`;

export async function fillHolds(client: PoolClient, accountId: Id, count: number): Promise<void> {
  const values = [accountId, accountId.replace(/^.{8}/, "00000000"), count];
  await client.query(STEPS, values);
  await client.query(OPEN, values);
  // No version writes holds of before the chain; triggers refuse it.
  await client.query("SET session_replication_role = replica");
  await client.query(BEFORE, values);
  await client.query("ANALYZE step, open_hold, hold");
}
