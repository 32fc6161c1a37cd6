// Text-log store owns the SQL of the log of text requests: lines written by the hundred, pages found in an index, deletion of old lines.
// No client waits for a line and a line is no money, so its commit does not wait for the disk.
import type { Credits, PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { FairGate, type Pool, sqlStateOf } from "@gr/runtime";
import { noAccount } from "../accounts/accounts.ts";
import { addTextActivity, TEXT_SERVICE } from "../activity/roll-up-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import type { HoldState } from "../holds/hold.ts";
import type { AccountReader } from "../reads/account-reader.ts";
import { readHolds } from "../reads/hold-reads.ts";
import { invalid } from "../rpc/field-rules.ts";
import { literal, quoted, quotedJson } from "./array-literal.ts";
import {
  LINE,
  readTexts,
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
  /** Newest first, one more than the limit when there are more. @param signal ends the wait with its call */
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
const LONG_READS = { places: 2, perOwner: 1, waitingPerOwner: 100, waiting: 1_000, name: "pages of the log" };
const LIMITS = {
  /** Milliseconds of a sum, at most. Its call has a deadline of 10 s, and a sum without a caller would use a connection for nothing. */
  sumMs: 9_000,
  /** Lines of a page of a state, at most: half the deadline of its call. */
  mostLines: 100_000,
};
const QUERY_CANCELED = "57014";
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

/** @param accounts the holds of requests. @param limits other ones are for tests only */
export function createTextLogStore(
  pool: Pool,
  accounts: AccountReader,
  { sumMs, mostLines } = LIMITS,
): TextLogStore {
  const longReads = new FairGate(LONG_READS);
  return {
    write: async (lines, byDefault) => {
      await pool.query({ name: "write_texts", text: WRITE, values: [byDefault, ...columnsOf(lines)] });
    },
    list: async (filter, signal) => {
      const read = () => readTexts(pool, filter, "DESC", mostLines);
      return await (mayReadMany(filter) ? longReads.run({ owner: filter.accountId, signal }, read) : read());
    },
    sum: async (filter, bars) => {
      if (bars !== undefined) return await sumTexts(pool, filter, bars, sumMs).catch(refuseLongSum);
      return { oldestAt: await oldestAt(pool, filter, mostLines), sums: [], latencies: [] };
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

/** An index serves one of these filters. With a second one, or a state of ended holds, a page reads lines that it does not show. */
function mayReadMany({ spenderId, spenderIds, model, provider, state }: TextFilter): boolean {
  const filters = [spenderId, model, provider].filter((filter) => filter !== undefined);
  return filters.length > 1 || spenderIds !== undefined || state === "captured" || state === "released";
}

/** @returns begin of the oldest text of a filter, or of any state if that is many lines away; undefined without a text */
async function oldestAt(pool: Pool, filter: TextFilter, mostLines: number): Promise<Date | undefined> {
  const first = { ...filter, limit: 0 };
  const [oldest] = await readTexts(pool, first, "ASC", mostLines).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    return readTexts(pool, { ...first, state: undefined }, "ASC", mostLines);
  });
  return oldest?.line?.beganAt;
}

function refuseLongSum(error: unknown): never {
  if (sqlStateOf(error) !== QUERY_CANCELED) throw error;
  throw invalid("began_after", "These requests are too many for one sum; name a later time");
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
