// SavedTextStore owns the SQL of saved prompts and answers: entries written in batches, and three ways to delete them.
// The bytes of an account are counted in the statement that changes its entries, so the bound of an account costs no sum.
// No client waits for a write, and no money depends on it, so its commit does not wait for the disk.
import type { Pool } from "@gr/runtime";
import { bucketOf } from "../chain/bucket.ts";
import { literal, quoted } from "../text-log/array-literal.ts";
import type { Days } from "../text-log/text-log-store.ts";

export interface SavedText {
  readonly id: string;
  readonly accountId: string;
  readonly spenderId: string;
  readonly beganAt: Date;
  /** Undefined if it is too long. */
  readonly prompt: Uint8Array | undefined;
  /** Undefined without an answer, or if it is too long. */
  readonly answer: Uint8Array | undefined;
  readonly promptBytes: bigint;
  readonly answerBytes: bigint;
}

/** Owner of entries, and their request if only one is meant. */
export interface SavedTextFilter {
  readonly accountId: string;
  readonly spenderId?: string | undefined;
  readonly id?: string | undefined;
}

export interface SavedTextUse {
  readonly entries: bigint;
  readonly bytes: bigint;
  /** Retention of the account; 0 = nothing is saved. */
  readonly days: Days;
}

/** Bounds of the installation. */
export interface SavedTextTerms {
  /** Retention, if the log of text requests of the account does not end earlier. */
  readonly days: Days;
  /** Retention of the log of text requests, for accounts without their own. */
  readonly logDays: Days;
  /** Bytes of all entries of one account. */
  readonly mostBytes: bigint;
}

export interface SavedTextStore {
  /** @returns the number of entries that a full account refused */
  save(texts: readonly SavedText[]): Promise<number>;
  find(filter: SavedTextFilter & { readonly id: string }): Promise<SavedText | undefined>;
  /** Of a single request no entry is stored afterwards, either. @returns the number of deleted entries */
  remove(filter: SavedTextFilter): Promise<bigint>;
  /** Deletes entries after their retention. */
  removeOld(now: Date, stopping: AbortSignal): Promise<void>;
  useOf(accountId: string): Promise<SavedTextUse>;
}

/** Entries of one statement of a deletion. */
const SLICE = 1_000;
/** Bytes of a row beside its texts. */
const ROW_BYTES = 256;

const DAYS = "least($1::integer, coalesce(own.days, $2::integer))";

/** Adds the rows of a common table to the sums; the order of accounts keeps two statements from waiting for each other. */
const count = (rows: string, sign: "" | "-") => `INSERT INTO saved_text_use AS u (account_id, entries, bytes)
  SELECT account_id, ${sign}count(*) FILTER (WHERE stored_bytes > 0), ${sign}sum(stored_bytes) FROM ${rows} GROUP BY account_id ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET entries = u.entries + excluded.entries, bytes = u.bytes + excluded.bytes`;

const SAVE = `WITH unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), entry AS (
    SELECT e.*, coalesce(u.bytes, 0) + sum(e.stored_bytes) OVER (PARTITION BY e.account_id ORDER BY e.began_at, e.id) AS bytes_with
    FROM unhurried, (SELECT t.*, ${ROW_BYTES} + coalesce(octet_length(t.prompt), 0) + coalesce(octet_length(t.answer), 0) AS stored_bytes
        FROM unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::timestamptz[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[])
          AS t (account_id, id, spender_id, began_at, prompt, answer, prompt_bytes, answer_bytes)) e
      LEFT JOIN text_retention own USING (account_id)
      LEFT JOIN saved_text_use u USING (account_id)
    WHERE ${DAYS} > 0
  ), stored AS (
    INSERT INTO saved_text (account_id, id, spender_id, began_at, prompt, answer, prompt_bytes, answer_bytes, stored_bytes)
    SELECT account_id, id, spender_id, began_at, prompt, answer, prompt_bytes, answer_bytes, stored_bytes FROM entry
    WHERE bytes_with <= $3 ORDER BY account_id, id ON CONFLICT (account_id, id) DO NOTHING RETURNING account_id, stored_bytes
  ), counted AS (${count("stored", "")})
  SELECT count(*)::integer AS refused FROM entry WHERE bytes_with > $3`;

const COLUMNS = "account_id, id, spender_id, began_at, prompt, answer, prompt_bytes, answer_bytes";

const REMOVE = `WITH gone AS (
    DELETE FROM saved_text WHERE (account_id, id) IN (
      SELECT account_id, id FROM saved_text WHERE account_id = $1 AND ($2::uuid IS NULL OR spender_id = $2)
        AND stored_bytes > 0 ORDER BY account_id, id LIMIT ${SLICE} FOR UPDATE SKIP LOCKED)
    RETURNING account_id, stored_bytes
  ), counted AS (${count("gone", "-")}) SELECT count(*) AS removed FROM gone`;

/**
 * Stores an empty row for a request without an entry: it may still run, and its entry may still arrive. Only requests with a hold have
 * one, so requests bound their number; the retention deletes them.
 */
const BLOCK = `WITH request AS (
    SELECT account_id, id, at FROM step WHERE bucket = $1 AND account_id = $2 AND id = $3 AND kind = 2
  ), blocked AS (
    INSERT INTO saved_text (account_id, id, spender_id, began_at, prompt_bytes, answer_bytes, stored_bytes)
    SELECT account_id, id, coalesce($4::uuid, account_id), to_timestamp(at / 1000.0), 0, 0, 0 FROM request ON CONFLICT (account_id, id) DO NOTHING
  ) INSERT INTO saved_text_use (account_id, entries, bytes) SELECT account_id, 0, 0 FROM request ON CONFLICT (account_id) DO NOTHING`;

/** The empty row stays, because a repeated call may contain the entry again. */
const REMOVE_ONE = `WITH gone AS (
    SELECT account_id, id, stored_bytes FROM saved_text
     WHERE account_id = $1 AND id = $3 AND ($2::uuid IS NULL OR spender_id = $2) AND stored_bytes > 0 FOR UPDATE
  ), emptied AS (
    UPDATE saved_text t SET prompt = NULL, answer = NULL, prompt_bytes = 0, answer_bytes = 0, stored_bytes = 0
      FROM gone WHERE t.account_id = gone.account_id AND t.id = gone.id
  ), counted AS (${count("gone", "-")}) SELECT count(*) AS removed FROM gone`;

const REMOVE_OLD = `WITH term AS (
    SELECT u.account_id, ${DAYS} AS days FROM saved_text_use u LEFT JOIN text_retention own USING (account_id)
  ), gone AS (
    DELETE FROM saved_text WHERE ctid = ANY (ARRAY(
      SELECT old.ctid FROM term, LATERAL (
        SELECT ctid FROM saved_text
        WHERE account_id = term.account_id AND began_at < $3::timestamptz - term.days * interval '1 day'
        LIMIT ${SLICE} FOR UPDATE SKIP LOCKED
      ) old LIMIT ${SLICE}))
    RETURNING account_id, stored_bytes
  ), counted AS (${count("gone", "-")}) SELECT count(*) AS removed FROM gone`;

const USE = `SELECT coalesce(u.entries, 0) AS entries, coalesce(u.bytes, 0) AS bytes, ${DAYS} AS days
  FROM (SELECT $3::uuid AS account_id) a LEFT JOIN saved_text_use u USING (account_id) LEFT JOIN text_retention own USING (account_id)`;

interface Row {
  account_id: string;
  id: string;
  spender_id: string;
  began_at: Date;
  prompt: Buffer | null;
  answer: Buffer | null;
  prompt_bytes: bigint;
  answer_bytes: bigint;
}

export function createSavedTextStore(
  pool: Pool,
  { days, logDays, mostBytes }: SavedTextTerms,
): SavedTextStore {
  const removeSlices = async (text: string, values: unknown[], stopping?: AbortSignal): Promise<bigint> => {
    let all = 0n;
    for (let removed = BigInt(SLICE); removed === BigInt(SLICE) && !stopping?.aborted; all += removed) {
      removed = (await pool.query<{ removed: bigint }>(text, values)).rows[0]?.removed ?? 0n;
    }
    return all;
  };
  return {
    save: async (texts) => {
      const values = [days, logDays, mostBytes, ...columnsOf(texts)];
      const { rows } = await pool.query<{ refused: number }>({ name: "save_texts", text: SAVE, values });
      return rows[0]?.refused ?? 0;
    },
    find: async ({ accountId, spenderId, id }) => {
      const text = `SELECT ${COLUMNS} FROM saved_text WHERE account_id = $1 AND id = $2 AND ($3::uuid IS NULL OR spender_id = $3) AND stored_bytes > 0`;
      const { rows } = await pool.query<Row>(text, [accountId, id, spenderId ?? null]);
      return rows[0] && textOf(rows[0]);
    },
    remove: async ({ accountId, spenderId = null, id }) => {
      if (id === undefined) return removeSlices(REMOVE, [accountId, spenderId]);
      await pool.query(BLOCK, [bucketOf(accountId), accountId, id, spenderId]);
      return (
        (await pool.query<{ removed: bigint }>(REMOVE_ONE, [accountId, spenderId, id])).rows[0]?.removed ?? 0n
      );
    },
    removeOld: async (now, stopping) => {
      await removeSlices(REMOVE_OLD, [days, logDays, now], stopping);
    },
    useOf: async (accountId) => {
      const { rows } = await pool.query<SavedTextUse>(USE, [days, logDays, accountId]);
      return rows[0] ?? { entries: 0n, bytes: 0n, days: 0 };
    },
  };
}

/** In the order of `SAVE`. */
function columnsOf(texts: readonly SavedText[]): unknown[] {
  const column = (read: Parameters<typeof literal<SavedText>>[1]) => literal(texts, read);
  return [
    column(({ accountId }) => accountId),
    column(({ id }) => id),
    column(({ spenderId }) => spenderId),
    column(({ beganAt }) => quoted(beganAt.toISOString())),
    column(({ prompt }) => bytesText(prompt)),
    column(({ answer }) => bytesText(answer)),
    column(({ promptBytes }) => promptBytes),
    column(({ answerBytes }) => answerBytes),
  ];
}

function bytesText(bytes: Uint8Array | undefined): string | null {
  if (bytes === undefined) return null;
  return `"\\\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}"`;
}

function textOf(row: Row): SavedText {
  return {
    id: row.id,
    accountId: row.account_id,
    spenderId: row.spender_id,
    beganAt: row.began_at,
    prompt: row.prompt ?? undefined,
    answer: row.answer ?? undefined,
    promptBytes: row.prompt_bytes,
    answerBytes: row.answer_bytes,
  };
}
