// Text-log store owns the SQL of the log of text requests: lines written by the hundred, pages found in an index, deletion of old lines.
// No client waits for a line and a line is no money, so its commit does not wait for the disk.
import type { Credits, PicoUsd } from "@gr/money";
import { FairGate, type Pool } from "@gr/runtime";
import { noAccount } from "../accounts/accounts.ts";
import { addTextActivity, TEXT_SERVICE } from "../activity/roll-up-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import type { HoldState } from "../holds/hold.ts";
import type { AccountReader } from "../reads/account-reader.ts";
import { readHolds } from "../reads/hold-reads.ts";
import { literal, quoted, quotedJson } from "./array-literal.ts";
import {
  LINE,
  listTexts,
  mayReadMany,
  oldestText,
  sumTexts,
  type TextBars,
  type TextFilter,
  type TextSums,
} from "./text-list-store.ts";
import { dropMonths, keptFrom, textMonths } from "./text-months-store.ts";

export interface TextLine {
  readonly id: string;
  readonly accountId: string;
  readonly spenderId: string;
  readonly model: string;
  readonly api: "chat" | "responses";
  readonly stream: boolean;
  readonly beganAt: Date;
  readonly tookMs: number;
  readonly firstByteMs: number | null;
  readonly finishReason: string;
  readonly userTag: string;
  readonly usage: TextUsage | null;
  readonly attempts: readonly TextAttempt[];
  readonly errorReason: string;
  readonly errorMessage: string;
}

/** Counts that are zero may be absent. */
export type TextUsage = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

export interface TextAttempt {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly outcome: string;
  readonly tookMs: number;
}

/** Facts of a hold, and its line, if there is one. */
export interface LoggedText {
  readonly id: string;
  readonly accountId: string;
  readonly spenderId: string;
  readonly model: string;
  readonly state: HoldState;
  /** Unix milliseconds. */
  readonly placedAt: number;
  readonly charge: Credits;
  readonly cost: PicoUsd;
  readonly priceVersion: string;
  readonly provider: string;
  readonly line: TextLine | undefined;
}

/** 0 = none is kept. */
export type Days = number;

export const MOST_DAYS = 36_500;

export interface TextLogStore {
  /** Lines of accounts without a log are ignored. @param byDefault of accounts without a term of their own */
  write(lines: readonly TextLine[], byDefault: Days): Promise<void>;
  /** Newest first, one more than the limit when there are more. @param signal ends the read with its call */
  list(filter: TextFilter, signal?: AbortSignal): Promise<readonly LoggedText[]>;
  /** Sums all requests of a filter. @param bars undefined: only the oldest is found */
  sum(filter: TextFilter, bars: TextBars | undefined): Promise<TextSums>;
  find(accountId: string, id: string): Promise<LoggedText | undefined>;
  /** Deletes lines after the term of their account, or with their month if the account has no term of its own. @param byDefault as for `write` */
  removeOld(byDefault: Days, now: Date, stopping: AbortSignal): Promise<void>;
  /** Undefined if the account has no term of its own. */
  daysOf(accountId: string): Promise<Days | undefined>;
  /** @param days undefined deletes its own term. @throws ServiceError account_not_found */
  setDaysOf(accountId: string, days: Days | undefined): Promise<void>;
}

const SLICE = 5_000;
/** Pages that read many lines would fill the pool of connections that reads of credits need. */
const LONG_READS = { places: 2, perOwner: 1, waitingPerOwner: 16, waiting: 64, name: "pages of the log" };
/** Milliseconds of a sum, at most. Its call has a deadline of 10 s, and a sum without a caller would use a connection for nothing. */
const SUM_MS = 9_000;
/** Milliseconds between the clocks of the processes that begin a request and place its hold, at most: a look-up reads these months. */
const CLOCKS_APART_MS = 86_400_000;
const STORED = `id, account_id, spender_id, model, api, stream, began_at, took_ms, first_byte_ms, finish_reason, user_tag, usage,
    attempts, error_reason, error_message`;

/** Columns that the sums read. */
const COUNTED = "account_id, spender_id, model, began_at, took_ms, first_byte_ms, usage, attempts";

/** Sums have each line once. Without a stored line, a repeated call counts once more. Each partition has a key of its own, by id. */
const WRITE = `WITH unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), line AS (
    SELECT line.*, coalesce(own.days, $1) > 0 AS is_stored FROM unhurried, unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::text[],
        $6::text[], $7::boolean[], $8::timestamptz[], $9::integer[], $10::integer[], $11::text[], $12::text[], $13::json[],
        $14::json[], $15::text[], $16::text[]) AS line (${STORED})
      LEFT JOIN text_retention own USING (account_id)
  ), stored AS (
    INSERT INTO text_line (${STORED}) SELECT ${STORED} FROM line WHERE is_stored ON CONFLICT DO NOTHING RETURNING ${COUNTED}
  ), counted AS (
    SELECT * FROM stored
    UNION ALL
    (SELECT DISTINCT ON (id) ${COUNTED} FROM line WHERE NOT is_stored)
  )${addTextActivity("counted")}`;

export const FIND_LINE = `SELECT ${LINE} FROM text_line t
  WHERE t.id = $1 AND t.account_id = $2 AND t.began_at BETWEEN $3 AND $4`;

/** Walks from one account to the next in the index, so it does not read the lines of accounts with long terms. */
export const removeFrom = (month: string) => `WITH RECURSIVE keeper AS (
    (SELECT account_id FROM ${month} ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM ${month} WHERE account_id > keeper.account_id ORDER BY account_id LIMIT 1)
    FROM keeper WHERE keeper.account_id IS NOT NULL
  ), term AS (
    SELECT keeper.account_id, coalesce($2::timestamptz - own.days * interval '1 day', $1::timestamptz) AS kept_from
    FROM keeper LEFT JOIN text_retention own USING (account_id) WHERE keeper.account_id IS NOT NULL
  )
  DELETE FROM ${month} WHERE ctid = ANY (ARRAY(
    SELECT old.ctid FROM term, LATERAL (
      SELECT ctid FROM ${month} WHERE account_id = term.account_id AND began_at < term.kept_from LIMIT ${SLICE} FOR UPDATE SKIP LOCKED
    ) old LIMIT ${SLICE}))`;

const SET_DAYS = `INSERT INTO text_retention (account_id, days) SELECT account_id, $2 FROM step WHERE bucket = $3 AND account_id = $1 AND seq = 1
  ON CONFLICT (account_id) DO UPDATE SET days = excluded.days, changed_at = now()`;

/** @param accounts the holds of requests. @param sumMs longest sum; a value other than 9 s is for tests only */
export function createTextLogStore(pool: Pool, accounts: AccountReader, sumMs = SUM_MS): TextLogStore {
  const longReads = new FairGate(LONG_READS);
  return {
    write: async (lines, byDefault) => {
      await pool.query({ name: "write_texts", text: WRITE, values: [byDefault, ...columnsOf(lines)] });
    },
    list: async (filter, signal) => {
      const read = () => listTexts(pool, filter, { signal });
      return await (mayReadMany(filter) ? longReads.run({ owner: filter.accountId, signal }, read) : read());
    },
    sum: async (filter, bars) => {
      if (bars !== undefined) return await sumTexts(pool, filter, bars, sumMs);
      return { oldestAt: await oldestText(pool, filter), sums: [], latencies: [] };
    },
    find: async (accountId, id) => {
      const [hold] = await readHolds(accounts, [{ accountId, holdId: id }]);
      if (hold?.tag.service !== TEXT_SERVICE) return undefined;
      const span = [-CLOCKS_APART_MS, CLOCKS_APART_MS].map((ms) => new Date(hold.placedAt + ms));
      const { rows } = await pool.query<TextLine>(FIND_LINE, [id, accountId, ...span]);
      return { ...hold.tag, ...hold, line: rows[0] };
    },
    removeOld: async (byDefault, now, stopping) => {
      await dropMonths(pool, byDefault, now);
      const values = [byDefault === 0 ? now : keptFrom(byDefault, now), now];
      for (const { name } of await textMonths(pool)) {
        for (let removed: number | null = SLICE; removed === SLICE && !stopping.aborted; ) {
          removed = (await pool.query(removeFrom(name), values)).rowCount;
        }
      }
    },
    daysOf: async (accountId) => {
      const text = "SELECT days FROM text_retention WHERE account_id = $1";
      return (await pool.query<{ days: Days }>(text, [accountId])).rows[0]?.days;
    },
    setDaysOf: async (accountId, days) => {
      if (days === undefined) {
        await pool.query("DELETE FROM text_retention WHERE account_id = $1", [accountId]);
      } else if ((await pool.query(SET_DAYS, [accountId, days, bucketOf(accountId)])).rowCount === 0) {
        throw noAccount(accountId);
      }
    },
  };
}

/** In the order of `WRITE`. */
function columnsOf(lines: readonly TextLine[]): string[] {
  const column = (read: Parameters<typeof literal<TextLine>>[1]) => literal(lines, read);
  return [
    column(({ id }) => id),
    column(({ accountId }) => accountId),
    column(({ spenderId }) => spenderId),
    column(({ model }) => quoted(model)),
    column(({ api }) => api),
    column(({ stream }) => stream),
    column(({ beganAt }) => quoted(beganAt.toISOString())),
    column(({ tookMs }) => tookMs),
    column(({ firstByteMs }) => firstByteMs),
    column(({ finishReason }) => quoted(finishReason)),
    column(({ userTag }) => quoted(userTag)),
    column(({ usage }) => usage && quotedJson(usage)),
    column(({ attempts }) => quotedJson(attempts)),
    column(({ errorReason }) => quoted(errorReason)),
    column(({ errorMessage }) => quoted(errorMessage)),
  ];
}
