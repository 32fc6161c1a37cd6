// Synthetic-book store owns the statements that fill a ledger with accounts, keys and charged holds, as rows that the proof accepts.
import type { Pool } from "@gr/runtime";

const OPEN = `INSERT INTO step (tx, account_id, id, seq, at, credits, charge, cost, credited, debited, held, bucket, attempt, kind, detail)
  SELECT pg_current_xact_id()::text::bigint, a.id, CASE WHEN k = 1 THEN a.id WHEN k > 2 THEN key.id ELSE gen_random_uuid() END, k, $1,
    CASE k WHEN 2 THEN 1000000000 ELSE 0 END, 0, 0, CASE WHEN k > 1 THEN 1000000000 ELSE 0 END, 0, 0, get_byte(uuid_send(a.id), 15), 0,
    (ARRAY[1, 11, 14])[least(k, 3)],
    CASE WHEN k = 2 THEN '{"note":"bench"}' WHEN k > 2 THEN jsonb_build_object('definition', jsonb_build_object('id', key.id, 'parentId', NULL,
      'level', 'key', 'name', 'bench', 'limit', NULL, 'period', 'lifetime', 'expiresAt', NULL, 'active', true, 'createdAt', 0,
      'revision', jsonb_build_object('$int', '1')))::text END
   FROM bench_account a CROSS JOIN generate_series(1, 2 + $2::int) k CROSS JOIN LATERAL (SELECT md5(a.id::text || k)::uuid AS id) key
  WHERE a.n BETWEEN $3 AND $4`;

/** Parameters: begin and end of a time, pairs of an account in it, pairs before it, keys of an account. Each key has its turn. */
const PAIRS = `INSERT INTO step (tx, account_id, id, seq, at, credits, charge, cost, place_seq, deadline_at, credited, debited, held, used1, held1, bucket,
    budget1, window1, attempt, kind, billed_by, service, provider, upstream_model, model, price_version)
  SELECT pg_current_xact_id()::text::bigint, p.account_id, p.hold_id, p.seq + k, p.at + k * 1000, CASE k WHEN 0 THEN 500 ELSE -500 END, 124 * k,
    12345678901 * k, CASE k WHEN 1 THEN p.seq END, CASE k WHEN 0 THEN p.at + 600000 END, 1000000000, 124 * (p.n - 1 + k), 500 * (1 - k),
    124 * ((p.n - 1) / $5::int + k), 500 * (1 - k), get_byte(uuid_send(p.account_id), 15), 1 + (p.n - 1) % $5::int, 1, 1,
    CASE k WHEN 0 THEN 2 ELSE 5 END, CASE k WHEN 1 THEN 'bench' END, CASE k WHEN 0 THEN 'text-proxy' END, CASE k WHEN 0 THEN 'bench' END,
    CASE k WHEN 0 THEN 'upstream/chat' END, CASE k WHEN 0 THEN 'chat' END, CASE k WHEN 0 THEN 'v1' END
   FROM (SELECT a.id AS account_id, gen_random_uuid() AS hold_id, $4::bigint + i AS n, $5::int + 1 + 2 * ($4::bigint + i) AS seq,
                $1::bigint + (($2::bigint - $1::bigint) / ($3::int + 1)) * i AS at
           FROM generate_series(1, $3::int) i CROSS JOIN bench_account a ORDER BY i) p CROSS JOIN generate_series(0, 1) k ORDER BY p.n, k`;

const OPENED_TOGETHER = 1_000;

export interface Book {
  readonly accounts: number;
  /** Keys of each account. */
  readonly keys: number;
  /** Unix milliseconds. */
  readonly openedAt: number;
}

/** @param follow moves the followers behind each part @returns ids of the accounts */
export async function openAccounts(
  pool: Pool,
  { accounts, keys, openedAt }: Book,
  follow: () => Promise<void>,
): Promise<string[]> {
  await pool.query(
    `CREATE TABLE bench_account AS SELECT n, gen_random_uuid() AS id FROM generate_series(1, ${accounts}) n`,
  );
  for (let first = 1; first <= accounts; first += OPENED_TOGETHER) {
    await pool.query(OPEN, [openedAt, keys, first, first + OPENED_TOGETHER - 1]);
    await follow();
  }
  const { rows } = await pool.query<{ id: string }>("SELECT id FROM bench_account");
  return rows.map(({ id }) => id);
}

export interface Pairs {
  /** Unix milliseconds. */
  readonly from: number;
  readonly until: number;
  /** Pairs of each account, and those that it has. */
  readonly count: number;
  readonly before: number;
  /** Keys of each account. */
  readonly keys: number;
}

/** Adds places with their captures to each account. */
export async function addPairs(pool: Pool, { from, until, count, before, keys }: Pairs): Promise<void> {
  await pool.query(PAIRS, [from, until, count, before, keys]);
}

/** @returns Unix milliseconds @param month 0 = the present one */
export function monthStart(month: number): number {
  const now = new Date();
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month, 1);
}
