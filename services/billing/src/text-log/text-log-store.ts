// Text-log store owns the SQL of the log of text requests: lines written by the hundred, pages found in an index, deletion of old lines.
// No client waits for a line and a line is no money, so its commit does not wait for the disk.
import type { Credits, PicoUsd } from "@gr/money";
import { inTransaction, type Pool } from "@gr/runtime";
import { noAccount } from "../accounts/accounts.ts";
import { addTextActivity } from "../activity/roll-up-store.ts";
import { placedAtOf } from "../before-steps/earlier-hold-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import { queryByKey } from "../chain/step-store.ts";
import type { HoldState } from "../holds/hold.ts";
import type { AccountReader } from "../reads/account-reader.ts";
import { readHolds } from "../reads/hold-reads.ts";
import { literal, quoted, quotedJson } from "./array-literal.ts";
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

/** What the hold says, and the line, where there is one. */
export interface LoggedText {
  readonly id: string;
  readonly accountId: string;
  readonly spenderId: string;
  readonly model: string;
  readonly state: HoldState;
  readonly placedAt: Date;
  readonly charge: Credits;
  readonly cost: PicoUsd;
  readonly priceVersion: string;
  readonly provider: string;
  readonly line: TextLine | undefined;
}

export interface TextFilter {
  readonly accountId: string;
  readonly spenderId: string | undefined;
  /** Only these; absent = all. */
  readonly spenderIds?: readonly string[] | undefined;
  readonly model: string | undefined;
  /** Of the last attempt. */
  readonly provider?: string | undefined;
  readonly state: HoldState | undefined;
  /** Those of that very moment are not among them. */
  readonly beganAfter: Date | undefined;
  readonly beganBefore: Date | undefined;
  /** Older than this one. */
  readonly before: Pick<TextLine, "id" | "beganAt"> | undefined;
  readonly limit: number;
}

/** 0 = none is kept. */
export type Days = number;

export const MOST_DAYS = 36_500;

export interface TextBars {
  /** Unix milliseconds. */
  readonly from: number;
  readonly widthMs: number;
}

export interface TextSum {
  readonly bar: number;
  readonly state: HoldState;
  readonly requests: bigint;
  readonly charge: Credits;
}

export interface TextSums {
  readonly oldestAt: Date | undefined;
  readonly sums: readonly TextSum[];
  readonly latencies: readonly { readonly step: number; readonly requests: bigint }[];
}

export interface TextLogStore {
  /** Those of accounts that keep none are left out. @param byDefault of accounts without a term of their own */
  write(lines: readonly TextLine[], byDefault: Days): Promise<void>;
  /** Newest first, one more than the limit when there are more. */
  list(filter: TextFilter): Promise<readonly LoggedText[]>;
  /** Sums all requests of a list, whatever its page. @param bars undefined: only the oldest is found */
  sum(filter: TextFilter, bars: TextBars | undefined): Promise<TextSums>;
  find(accountId: string, id: string): Promise<LoggedText | undefined>;
  /** Deletes lines after the term of their account, or with their month if the account has no term of its own. @param byDefault as for `write` */
  removeOld(byDefault: Days, now: Date, stopping: AbortSignal): Promise<void>;
  /** Undefined when the account has no term of its own. */
  daysOf(accountId: string): Promise<Days | undefined>;
  /** @param days undefined takes away what it has. @throws ServiceError account_not_found */
  setDaysOf(accountId: string, days: Days | undefined): Promise<void>;
}

const SLICE = 5_000;
/** Milliseconds of a sum, at most. Its call has a deadline of 10 s, and a sum without a caller would use a connection for nothing. */
const SUM_MS = 9_000;
/** Milliseconds between the clocks of the processes that begin a request and place its hold, at most: a look-up reads these months. */
const CLOCKS_APART_MS = 86_400_000;
/** Service of the holds that are text requests. */
const TEXT_SERVICE = "text-proxy";

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

const LINE = `t.api, t.stream, t.began_at, t.took_ms, t.first_byte_ms, t.finish_reason, t.user_tag, t.usage, t.attempts,
  t.error_reason, t.error_message`;

export const FIND_LINE = `SELECT ${LINE}, t.id, t.account_id, t.spender_id, t.model FROM text_line t
  WHERE t.id = $1 AND t.account_id = $2 AND t.began_at BETWEEN $3 AND $4`;

const STATE =
  "CASE WHEN h.id IS NOT NULL THEN h.state::text WHEN e.kind IS NULL THEN 'open' WHEN e.kind = 5 THEN 'captured' ELSE 'released' END";

/** The end of a hold is near its place, and its attempts are between both, so each search follows the account from there. */
const PAGE = `SELECT ${LINE}, t.id, t.account_id, t.spender_id, t.model, ${placedAtOf("p", "h")} AS placed_at, coalesce(p.price_version, h.price_version) AS price_version,
    coalesce(e.charge, h.charge) AS charge, coalesce(e.cost, h.cost) AS cost, coalesce(n.provider, p.provider, h.provider) AS provider, ${STATE} AS state
  FROM text_line t
  LEFT JOIN step p ON p.bucket = $1 AND p.account_id = $2 AND p.id = t.id AND p.kind = 2
  LEFT JOIN hold h ON p.seq IS NULL AND h.id = t.id AND h.account_id = $2 AND h.state <> 'open'
  LEFT JOIN LATERAL (
    SELECT e.seq, e.kind, e.attempt, e.charge, e.cost FROM step e
     WHERE e.bucket = $1 AND e.account_id = $2 AND e.seq > p.seq AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)
     ORDER BY e.seq LIMIT 1) e ON true
  LEFT JOIN LATERAL (
    SELECT n.provider FROM step n
     WHERE n.bucket = $1 AND n.account_id = $2 AND n.seq > p.seq AND n.seq < coalesce(e.seq, 9223372036854775807) AND n.place_seq = p.seq
       AND n.kind = 4 AND coalesce(e.attempt, 2) > 1
     ORDER BY n.seq DESC LIMIT 1) n ON true`;

/** In the words of its index. */
const PROVIDER = "(t.attempts -> -1 ->> 'provider')";

const IS_LISTED_OPEN =
  "t.id = ANY (ARRAY (SELECT o.hold_id FROM open_hold o WHERE o.bucket = $1 AND o.account_id = $2))";

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

interface LineRow {
  id: string;
  account_id: string;
  spender_id: string;
  model: string;
  api: TextLine["api"];
  stream: boolean;
  began_at: Date;
  took_ms: number;
  first_byte_ms: number | null;
  finish_reason: string;
  user_tag: string;
  usage: TextUsage | null;
  attempts: readonly TextAttempt[];
  error_reason: string;
  error_message: string;
}

interface TextRow extends LineRow {
  state: HoldState;
  placed_at: bigint;
  charge: bigint | null;
  cost: bigint | null;
  price_version: string;
  provider: string;
}

/** @param accounts the holds of requests. @param sumMs longest sum; a value other than 9 s is for tests only */
export function createTextLogStore(pool: Pool, accounts: AccountReader, sumMs = SUM_MS): TextLogStore {
  return {
    write: async (lines, byDefault) => {
      await pool.query({ name: "write_texts", text: WRITE, values: [byDefault, ...columnsOf(lines)] });
    },
    list: async (filter) => {
      const { text, values } = pageQuery(filter);
      return (await queryByKey<TextRow>(pool, text, values)).rows.map(textOf);
    },
    sum: async (filter, bars) => {
      if (bars === undefined) {
        const { text, values } = oldestQuery(filter);
        const { rows } = await queryByKey<{ began_at: Date }>(pool, text, values);
        return { oldestAt: rows[0]?.began_at, sums: [], latencies: [] };
      }
      const { text, values } = sumQuery(filter, bars);
      const { rows } = await inTransaction(pool, async (client) => {
        await client.query(`SET LOCAL statement_timeout = ${sumMs}`);
        return client.query<SumRow>(text, values);
      });
      return {
        oldestAt: undefined,
        sums: rows.flatMap(({ is_bar, bar, state, requests, charge }) =>
          is_bar ? [{ bar, state, requests, charge }] : [],
        ),
        latencies: rows.flatMap(({ is_bar, step, requests }) =>
          is_bar || step === null ? [] : [{ step, requests }],
        ),
      };
    },
    find: async (accountId, id) => {
      const [hold] = await readHolds(accounts, [{ accountId, holdId: id }]);
      if (hold?.service !== TEXT_SERVICE) return undefined;
      const { spenderId, model, state, placedAt, charge, cost, priceVersion, provider } = hold;
      const span = [-CLOCKS_APART_MS, CLOCKS_APART_MS].map((ms) => new Date(placedAt.getTime() + ms));
      const { rows } = await pool.query<LineRow>(FIND_LINE, [id, accountId, ...span]);
      const line = rows[0] && lineOf(rows[0]);
      return { id, accountId, spenderId, model, state, placedAt, charge, cost, priceVersion, provider, line };
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

interface SumRow {
  is_bar: boolean;
  bar: number;
  state: HoldState;
  step: number | null;
  requests: bigint;
  charge: bigint;
}

interface Query {
  readonly text: string;
  readonly values: unknown[];
}

/** One end for each place, so that a large log is joined as a whole. */
const SUMMED = `FROM text_line t
  LEFT JOIN step p ON p.bucket = $1 AND p.account_id = $2 AND p.id = t.id AND p.kind = 2
  LEFT JOIN hold h ON p.seq IS NULL AND h.id = t.id AND h.account_id = $2 AND h.state <> 'open'
  LEFT JOIN step e ON e.bucket = $1 AND e.account_id = $2 AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)`;
/** Steps of one percent. Counts add up, so each sum of them has a median. */
const LATENCY_STEP = "floor(ln(greatest(t.took_ms, 1)) / ln(1.01))::integer";

function sumQuery(filter: TextFilter, { from, widthMs }: TextBars): Query {
  const { terms, values } = conditionsOf(filter);
  const more = spendersTerm(filter, values);
  values.push(from, widthMs);
  const begin = `$${values.length - 1}::double precision`;
  const width = `$${values.length}::double precision`;
  const text = `SELECT grouping(s.step) = 1 AS is_bar, s.bar, s.state, s.step, count(*) AS requests, coalesce(sum(s.charge), 0)::bigint AS charge
    FROM (SELECT floor((extract(epoch FROM t.began_at) * 1000 - ${begin}) / ${width})::integer AS bar, ${STATE} AS state,
        CASE WHEN ${STATE} = 'captured' THEN ${LATENCY_STEP} END AS step, coalesce(e.charge, h.charge, 0) AS charge
      ${SUMMED} WHERE ${[...terms, ...more].join(" AND ")}) s
    GROUP BY GROUPING SETS ((s.bar, s.state), (s.step))`;
  return { text, values };
}

function oldestQuery(filter: TextFilter): Query {
  const { terms, values } = conditionsOf(filter);
  const more = spendersTerm(filter, values);
  const text = `${PAGE} WHERE ${[...terms, ...more].join(" AND ")} ORDER BY t.began_at, t.id LIMIT 1`;
  return { text, values };
}

function spendersTerm({ spenderIds }: TextFilter, values: unknown[]): string[] {
  return spenderIds === undefined ? [] : [`t.spender_id = ANY ($${values.push(spenderIds)}::uuid[])`];
}

export function pageQuery(filter: TextFilter): Query {
  const { terms, values } = conditionsOf(filter);
  const { spenderIds, before } = filter;
  if (before !== undefined) {
    values.push(before.beganAt, before.id);
    // The begin alone excludes partitions.
    terms.push(
      `t.began_at <= $${values.length - 1} AND (t.began_at, t.id) < ($${values.length - 1}, $${values.length})`,
    );
  }
  values.push(filter.limit + 1);
  const most = `LIMIT $${values.length}`;
  const page = (more: string) =>
    `${PAGE} WHERE ${terms.join(" AND ")}${more} ORDER BY t.began_at DESC, t.id DESC ${most}`;
  if (spenderIds === undefined) return { text: page(""), values };
  // A page of each spender, each from the index of its spender, and the first lines of all.
  values.push(spenderIds);
  const spenders = `unnest($${values.length}::uuid[]) AS k (id)`;
  const text = `SELECT p.* FROM ${spenders}, LATERAL (${page(" AND t.spender_id = k.id")}) p ORDER BY p.began_at DESC, p.id DESC ${most}`;
  return { text, values };
}

/** Each term as a filter names it, so that the index of the spender serves a filter by spender. */
function conditionsOf(filter: TextFilter): { terms: string[]; values: unknown[] } {
  const { accountId, spenderId, model, provider, state, beganAfter, beganBefore } = filter;
  const values: unknown[] = [bucketOf(accountId), accountId];
  const terms = ["t.account_id = $2 AND (p.seq IS NOT NULL OR h.id IS NOT NULL)"];
  const add = (term: string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    terms.push(`${term} $${values.length}`);
  };
  add("t.spender_id =", spenderId);
  add("t.model =", model);
  add(`${PROVIDER} =`, provider);
  // Open holds are few; the list is at most a second behind.
  if (state === "open") terms.push(IS_LISTED_OPEN);
  add(`${STATE} =`, state);
  add("t.began_at >", beganAfter);
  add("t.began_at <", beganBefore);
  return { terms, values };
}

function textOf(row: TextRow): LoggedText {
  const { id, account_id: accountId, spender_id: spenderId, model, state, provider } = row;
  return {
    ...{ id, accountId, spenderId, model, state, provider },
    placedAt: new Date(Number(row.placed_at)),
    charge: row.charge ?? 0n,
    cost: row.cost ?? 0n,
    priceVersion: row.price_version,
    line: lineOf(row),
  };
}

function lineOf(row: LineRow): TextLine {
  return {
    id: row.id,
    accountId: row.account_id,
    spenderId: row.spender_id,
    model: row.model,
    api: row.api,
    stream: row.stream,
    beganAt: row.began_at,
    tookMs: row.took_ms,
    firstByteMs: row.first_byte_ms,
    finishReason: row.finish_reason,
    userTag: row.user_tag,
    usage: row.usage,
    attempts: row.attempts,
    errorReason: row.error_reason,
    errorMessage: row.error_message,
  };
}
