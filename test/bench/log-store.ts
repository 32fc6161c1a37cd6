// Fills the logs of an account like years of requests: images and videos in the table of media generation, text
// requests and their holds in billing's, with the lines of other accounts between them.
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

const FILL_TEXTS = `WITH held AS (INSERT INTO billing.hold (id, account_id, spender_id, credits, placed_at, deadline_at, charge, cost, window_no,
    attempt, state, service, provider, upstream_model, model, price_version)
  SELECT md5('text' || n)::uuid, ${OWNER}, CASE WHEN n % 3 = 0 THEN md5('key')::uuid ELSE $2::uuid END, 10, now() - n * ${APART},
    now(), 10, 10, 0, 1, (CASE WHEN n % 50 = 2 THEN 'released' ELSE 'captured' END)::billing.hold_state, 'text-proxy', 'p', 'p',
    ${MODEL("$3::integer")}, '1'
  FROM generate_series($4::integer, $5::integer, -1) n RETURNING *)
  INSERT INTO billing.text_request (id, account_id, spender_id, model, api, stream, began_at, took_ms, first_byte_ms,
    finish_reason, user_tag, usage, attempts, error_reason, error_message)
  SELECT id, account_id, spender_id, model, 'chat', true, placed_at, 1200, 300, 'stop', '',
    '{"inputTokens":900,"outputTokens":120}', '[{"provider":"p","upstreamModel":"p","outcome":"delivered","tookMs":1100}]',
    CASE state WHEN 'released' THEN 'provider_error' ELSE '' END, CASE state WHEN 'released' THEN 'The provider failed.' ELSE '' END
  FROM held`;

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
    for (const table of ["media_generation.generation", "billing.hold", "billing.text_request"]) {
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
  text: "SELECT id FROM billing.text_request WHERE account_id = $1 AND spender_id = $2::uuid",
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
