// Fills the logs of an account like years of requests, with the lines of other accounts between them. Images and videos are
// in the table of media generation, text requests and the steps of their holds in billing's.
import { connectPostgres, createLogger, type Pool } from "@gr/runtime";

export interface LogOwner {
  readonly accountId: string;
  readonly keyId: string;
}

/** Model of only three requests. */
export const RARE_MODEL = "vendor/rare";
/** One request a minute, so that a year has half a million. */
const APART = "interval '1 minute'";
/** Number of our lines after which one line of another account follows. */
const OTHERS_EVERY = 5;

/** Lines of one statement, which ends within the limit of a statement. */
const SLICE = 20_000;

const MODEL = (count: string) =>
  `CASE WHEN n % (${count} / 3) = 7 THEN '${RARE_MODEL}' ELSE 'vendor/model-' || n % 40 END`;
const OWNER = `CASE WHEN n % ${OTHERS_EVERY} = 0 THEN md5('account')::uuid ELSE $1::uuid END`;
const STATE = "CASE WHEN n % 100 = 1 THEN 'blocked' WHEN n % 50 = 2 THEN 'failed' ELSE 'succeeded' END";

const FILL_MEDIA = `INSERT INTO media_generation.generation (id, account_id, key_id, kind, model, provider, upstream_model, state,
    request, price_version, price_pico_usd, credits, charge_credits, cost_pico_usd, outputs, worker, due_at, deadline_at,
    created_at, finished_at, booked_at, error_kind)
  SELECT gen_random_uuid(), ${OWNER}, CASE WHEN n % 3 = 0 THEN 'another' ELSE $2 END,
    CASE WHEN n % 10 = 0 THEN 'video' ELSE 'image' END, ${MODEL("$3::integer")}, 'p', 'p', ${STATE},
    json_build_object('prompt', repeat('a lighthouse at night ', 10), 'n', 1, 'output_format', 'webp', 'response_format', 'url'),
    '1', 10, 10, 10, 10, '["0123456789012345678901234567890123456789.webp"]', gen_random_uuid(), now(), now(),
    now() - n * ${APART}, now() - n * ${APART}, now() - n * ${APART},
    CASE ${STATE} WHEN 'succeeded' THEN NULL ELSE ${STATE} END
  FROM generate_series($4::integer, $5::integer, -1) n`;

/** Requests of one slice, each with its numbers in the chain of its account. */
const NUMBERED = `numbered AS (
    SELECT n, md5('text' || n)::uuid AS id, ${OWNER} AS account_id, ${MODEL("$3::integer")} AS model, now() - n * ${APART} AS began_at,
        (extract(epoch FROM now() - n * ${APART}) * 1000)::bigint AS at,
        row_number() OVER (PARTITION BY n % ${OTHERS_EVERY} = 0 ORDER BY n DESC) AS r,
        n % 50 = 2 AS is_released, CASE WHEN n % 3 = 0 THEN md5('key')::uuid ELSE $2::uuid END AS spender_id
      FROM generate_series($4::integer, $5::integer, -1) n
  ), chained AS (
    SELECT numbered.*, get_byte(uuid_send(numbered.account_id), 15) AS bucket, coalesce(l.seq, 0) AS seq0, greatest(l.at, numbered.at) AS step_at,
        coalesce(l.credited, 0) AS credited, coalesce(l.debited, 0) AS debited, coalesce(l.held, 0) AS held
      FROM numbered LEFT JOIN LATERAL (
        SELECT * FROM billing.step l WHERE l.bucket = get_byte(uuid_send(numbered.account_id), 15) AND l.account_id = numbered.account_id
         ORDER BY l.seq DESC LIMIT 1) l ON true)`;

/** Holds of zero credits: the balance of the account does not matter. */
const FILL_TEXTS = `WITH ${NUMBERED}, places AS (
    INSERT INTO billing.step (tx, bucket, account_id, seq, id, kind, at, credits, charge, cost, credited, debited, held, attempt,
        deadline_at, service, provider, upstream_model, model, price_version, budget1, window1, used1, held1)
      SELECT 1, bucket, account_id, seq0 + 2 * r - 1, id, 2, step_at, 0, 0, 0, credited, debited, held, 1, step_at, 'text-proxy', 'p', 'p',
        model, '1', 1, 1, 0, 0 FROM chained
  ), ends AS (
    INSERT INTO billing.step (tx, bucket, account_id, seq, id, kind, at, credits, charge, cost, place_seq, credited, debited, held,
        attempt, billed_by, budget1, window1, used1, held1)
      SELECT 1, bucket, account_id, seq0 + 2 * r, id, CASE WHEN is_released THEN 6 ELSE 5 END, step_at, 0, 0, 10, seq0 + 2 * r - 1,
        credited, debited, held, 1, 'p', 1, 1, 0, 0 FROM chained)
  INSERT INTO billing.text_line (id, account_id, spender_id, model, api, stream, began_at, took_ms, first_byte_ms,
    finish_reason, user_tag, usage, attempts, error_reason, error_message)
  SELECT id, account_id, spender_id, model, 'chat', true, began_at, 1200, 300, 'stop', '',
    '{"inputTokens":900,"outputTokens":120}', '[{"provider":"p","upstreamModel":"p","outcome":"delivered","tookMs":1100}]',
    CASE WHEN is_released THEN 'provider_error' ELSE '' END, CASE WHEN is_released THEN 'The provider failed.' ELSE '' END
  FROM chained`;

/** Stored states, so the router continues from the latest step. The account has no open hold, and its keys have no charge. */
const STORE_STATE = `WITH latest AS (SELECT * FROM billing.step WHERE account_id = $1 ORDER BY seq DESC LIMIT 1),
  budget AS (
    SELECT row_number() OVER (ORDER BY min(seq)) AS no, (array_agg(detail ORDER BY seq DESC))[1]::json -> 'definition' AS definition
      FROM billing.step WHERE account_id = $1 AND kind = 14 GROUP BY id),
  budgets AS (
    INSERT INTO billing.budget_state (bucket, account_id, budget, seq, content)
      SELECT l.bucket, l.account_id, b.no, l.seq, json_build_object('definition', b.definition, 'no', b.no, 'window', 1, 'windowStart', NULL,
        'totals', '[]'::json, 'used', json_build_object('$int', '0'), 'requests', 0) FROM latest l, budget b
    ON CONFLICT (bucket, account_id, budget) DO UPDATE SET seq = excluded.seq, content = excluded.content)
  INSERT INTO billing.account_state (bucket, account_id, seq, at, credited, debited, held, free_day, free_used, suspended, open_holds)
    SELECT bucket, account_id, seq, at, credited, debited, held, 0, 0, false, '[]' FROM latest
  ON CONFLICT (bucket, account_id) DO UPDATE SET seq = excluded.seq, at = excluded.at`;

/** @param count of each kind, a fifth of them another account's */
export async function fillLogs(
  databaseUrl: string,
  { accountId, keyId }: LogOwner,
  count: number,
): Promise<void> {
  await within(databaseUrl, async (db) => {
    for (let oldest = count; oldest > 0; oldest -= SLICE) {
      const newest = Math.max(1, oldest - SLICE + 1);
      for (const fill of [FILL_MEDIA, FILL_TEXTS]) {
        await db.query(fill, [accountId, keyId, count, oldest, newest]);
      }
    }
    await db.query(STORE_STATE, [accountId]);
    for (const table of ["media_generation.generation", "billing.step", "billing.text_line"]) {
      await db.query(`VACUUM ANALYZE ${table}`);
    }
  });
}

async function within<T>(url: string, work: (db: Pool) => Promise<T>): Promise<T> {
  const log = createLogger("silent", "bench");
  const db = await connectPostgres({ url, poolSize: 1, schema: "public", log });
  try {
    return await work(db);
  } finally {
    await db.end();
  }
}

const IDS = {
  media: "SELECT id FROM media_generation.generation WHERE account_id = $1 AND key_id = $2",
  text: "SELECT id FROM billing.text_line WHERE account_id = $1 AND spender_id = $2::uuid",
} as const;
const ORDER = { media: "created_at", text: "began_at" } as const;

/** Returns the entry with this number of newer ones of its key. */
export async function entryAt(
  databaseUrl: string,
  log: "media" | "text",
  { accountId, keyId }: LogOwner,
  newer: number,
): Promise<string> {
  return within(databaseUrl, async (db) => {
    const { rows } = await db.query<{ id: string }>(
      `${IDS[log]} ORDER BY ${ORDER[log]} DESC, id DESC OFFSET $3 LIMIT 1`,
      [accountId, keyId, newer],
    );
    return rows[0]?.id ?? "";
  });
}
