// Many-texts store owns an account with any number of logged text requests, written as rows: half of them of another account.
import type { Id } from "@gr/ledger";
import type pg from "pg";

const STEP = `INSERT INTO step (tx, bucket, account_id, seq, id, kind, at, credits, charge, cost, place_seq, credited, debited, held,
    attempt, billed_by, deadline_at, service, provider, upstream_model, model, price_version)`;
const REQUEST = `(SELECT n, md5($1::text || n)::uuid AS id, CASE WHEN n % 2 = 0 THEN $1 ELSE $2 END::uuid AS account_id,
    $4::bigint - (1 + $3 - n) * $5::bigint AS at FROM generate_series(1, $3::int) n) r`;
const BUCKET = "get_byte(uuid_send(account_id), 15)";

const PLACES = `${STEP} SELECT 0, ${BUCKET}, account_id, 1000 + 2 * n - 1, id, 2, at, 1, 0, 0, NULL, 1000000000, 0, 1, 1, NULL, at,
    'text-proxy', 'p', 'p', 'm' || n % 7, '1' FROM ${REQUEST}`;
const ENDS = `${STEP} SELECT 0, ${BUCKET}, account_id, 1000 + 2 * n, id, CASE WHEN n % 20 = 2 THEN 6 ELSE 5 END, at, -1, 0, 1, 1000 + 2 * n - 1,
    1000000000, 0, 0, 1, 'p', NULL, NULL, NULL, NULL, NULL, NULL FROM ${REQUEST}`;
const LINES = `INSERT INTO text_line (id, account_id, spender_id, model, api, stream, began_at, took_ms, finish_reason, user_tag,
    attempts, error_reason, error_message)
  SELECT id, account_id, CASE WHEN n % 20 = 0 THEN $6 ELSE gen_random_uuid() END::uuid, 'm' || n % 7, 'chat', false,
    to_timestamp(at / 1000.0), 1, '', '', '[]', '', '' FROM ${REQUEST} WHERE account_id = $1::uuid`;

/** Unix milliseconds of the end, and milliseconds between two requests. */
export interface Span {
  readonly endsAt: number;
  readonly apartMs: number;
}

/** @param wallet its chain has at most 1,000 steps; the rows follow with a gap, for tests that never verify it */
export async function addTexts(
  db: pg.Client | pg.Pool,
  { accountId, spenderId }: { readonly accountId: Id; readonly spenderId: Id },
  count: number,
  { endsAt, apartMs }: Span,
): Promise<void> {
  const other = accountId.replace(/^.{8}/, "00000000");
  const values = [accountId, other, count, endsAt, apartMs];
  await db.query(PLACES, values);
  await db.query(ENDS, values);
  await db.query(LINES, [...values, spenderId]);
  await db.query("ANALYZE text_line, step");
}
