// Text-list store owns lists and sums of the log of text requests. A list reads lines, and then the holds of these lines.
// Lines are on one server, and Citus can distribute the steps of holds: a join would send the log of the account to a worker.
import type { Credits } from "@gr/money";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import { EARLIER_HOLDS_OF_TEXTS, placedAtOf } from "../before-steps/earlier-hold-store.ts";
import { bucketOf } from "../chain/bucket.ts";
import { PLAN_BY_KEY } from "../chain/step-store.ts";
import type { HoldState } from "../holds/hold.ts";
import { invalid } from "../rpc/field-rules.ts";
import type { LoggedText, TextLine } from "./text-log-store.ts";

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

/** Of a hold. */
type HoldRow = Pick<LoggedText, "id" | "state" | "charge" | "cost" | "priceVersion" | "provider"> & {
  readonly placedAt: bigint;
};

/** Members of a line. */
export const LINE = `t.id, t.account_id AS "accountId", t.spender_id AS "spenderId", t.model, t.api, t.stream, t.began_at AS "beganAt",
  t.took_ms AS "tookMs", t.first_byte_ms AS "firstByteMs", t.finish_reason AS "finishReason", t.user_tag AS "userTag", t.usage, t.attempts,
  t.error_reason AS "errorReason", t.error_message AS "errorMessage"`;

/** Of the aliases \`p\`, a place, and \`e\`, its end. */
const STATE = "CASE WHEN e.kind IS NULL THEN 'open' WHEN e.kind = 5 THEN 'captured' ELSE 'released' END";

/**
 * Holds are found by their ids: without statistics the planner would read all steps of the account. The end of a hold is near its place, and its
 * attempts are between both, so each search follows the account from there.
 */
export const HOLDS = `SELECT p.id, ${STATE} AS state, coalesce(e.charge, 0) AS charge, coalesce(e.cost, 0) AS cost, p.price_version AS "priceVersion",
    coalesce(n.provider, p.provider) AS provider, ${placedAtOf("p")} AS "placedAt"
  FROM (SELECT * FROM step WHERE bucket = $1 AND id = ANY ($3::uuid[]) AND kind = 2 OFFSET 0) p
  LEFT JOIN LATERAL (
    SELECT e.seq, e.kind, e.attempt, e.charge, e.cost FROM step e
     WHERE e.bucket = $1 AND e.account_id = $2 AND e.seq > p.seq AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)
     ORDER BY e.seq LIMIT 1) e ON true
  LEFT JOIN LATERAL (
    SELECT n.provider FROM step n
     WHERE n.bucket = $1 AND n.account_id = $2 AND n.seq > p.seq AND n.seq < coalesce(e.seq, 9223372036854775807) AND n.place_seq = p.seq
       AND n.kind = 4 AND coalesce(e.attempt, 2) > 1
     ORDER BY n.seq DESC LIMIT 1) n ON true
 WHERE p.account_id = $2`;

/** In the words of its index. */
const PROVIDER = "(t.attempts -> -1 ->> 'provider')";

/** Lines that one statement reads after the first page. */
const SLICE = 1_000;
/** Lines that a page reads, so that a filter by state with few results ends before the deadline of its call. */
const MOST_LINES = 200_000;

/** @returns the first texts, one more than the limit if there are more @param order of begins @param mostLines that are read */
export async function readTexts(
  pool: Pool,
  filter: TextFilter,
  order: Order,
  mostLines = MOST_LINES,
): Promise<LoggedText[]> {
  return await inTransaction(pool, async (client) => {
    await client.query(PLAN_BY_KEY);
    const found: LoggedText[] = [];
    let { before } = filter;
    let read = 0;
    for (let slice = filter.limit + 1; ; slice = Math.min(4 * slice, SLICE)) {
      const { text, values } = linesQuery({ ...filter, before, limit: slice }, order);
      const { rows: lines } = await client.query<TextLine>(text, values);
      found.push(...(await withHolds(client, filter, lines)));
      const last = lines.at(-1);
      if (found.length > filter.limit || lines.length < slice || last === undefined)
        return found.slice(0, filter.limit + 1);
      read += lines.length;
      if (read >= mostLines)
        throw invalid("began_before", `${read} requests have no match; name a time near the wanted ones`);
      before = last;
    }
  });
}

/** @returns the lines with a hold in the state of the filter */
async function withHolds(
  client: PoolClient,
  { accountId, state }: TextFilter,
  lines: readonly TextLine[],
): Promise<LoggedText[]> {
  if (lines.length === 0) return [];
  const holds = new Map<string, HoldRow>();
  const add = async (text: string, values: unknown[]) => {
    for (const row of (await client.query<HoldRow>(text, values)).rows) holds.set(row.id, row);
  };
  const ids = lines.map(({ id }) => id);
  await add(HOLDS, [bucketOf(accountId), accountId, ids]);
  const unknown = ids.filter((id) => !holds.has(id));
  if (unknown.length > 0) await add(EARLIER_HOLDS_OF_TEXTS, [accountId, unknown]);
  return lines.flatMap((line) => {
    const hold = holds.get(line.id);
    if (hold === undefined || (state !== undefined && hold.state !== state)) return [];
    const { spenderId, model } = line;
    return [{ ...hold, accountId, spenderId, model, placedAt: Number(hold.placedAt), line }];
  });
}

interface SumRow {
  readonly is_bar: boolean;
  readonly bar: number;
  readonly state: HoldState;
  readonly step: number | null;
  readonly requests: bigint;
  readonly charge: Credits;
}

interface Query {
  readonly text: string;
  readonly values: unknown[];
}

type Order = "ASC" | "DESC";

/** @param sumMs milliseconds of the statement, at most */
export async function sumTexts(
  pool: Pool,
  filter: TextFilter,
  bars: TextBars,
  sumMs: number,
): Promise<TextSums> {
  const { text, values } = sumQuery(filter, bars);
  const { rows } = await inTransaction(pool, async (client) => {
    await client.query(`SET LOCAL statement_timeout = ${sumMs}`);
    return await client.query<SumRow>(text, values);
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
}

/** One end for each place, so that a large log is joined as a whole. */
const SUMMED = `FROM text_line t
  LEFT JOIN step p ON p.bucket = $2 AND p.account_id = $1 AND p.id = t.id AND p.kind = 2
  LEFT JOIN hold h ON p.seq IS NULL AND h.id = t.id AND h.account_id = $1 AND h.state <> 'open'
  LEFT JOIN step e ON e.bucket = $2 AND e.account_id = $1 AND e.place_seq = p.seq AND e.kind IN (5, 6, 7)`;
const SUMMED_STATE = `coalesce(h.state::text, ${STATE})`;
/** Steps of one percent. Counts add up, so each sum of them has a median. */
const LATENCY_STEP = "floor(ln(greatest(t.took_ms, 1)) / ln(1.01))::integer";

/**
 * OFFSET 0 keeps the inner rows a query of their own. PostgreSQL would merge them into the sets of groups, and Citus 15 then reads each column
 * that only the sums use as null.
 */
function sumQuery(filter: TextFilter, { from, widthMs }: TextBars): Query {
  const values: unknown[] = [filter.accountId, bucketOf(filter.accountId), from, widthMs];
  const terms = [...conditionsOf(filter, values), "(p.seq IS NOT NULL OR h.id IS NOT NULL)"];
  if (filter.spenderIds !== undefined)
    terms.push(`t.spender_id = ANY ($${values.push(filter.spenderIds)}::uuid[])`);
  if (filter.state !== undefined) terms.push(`${SUMMED_STATE} = $${values.push(filter.state)}`);
  const text = `SELECT grouping(s.step) = 1 AS is_bar, s.bar, s.state, s.step, count(*) AS requests, coalesce(sum(s.charge), 0)::bigint AS charge
    FROM (SELECT floor((extract(epoch FROM t.began_at) * 1000 - $3::double precision) / $4::double precision)::integer AS bar,
        ${SUMMED_STATE} AS state, CASE WHEN ${SUMMED_STATE} = 'captured' THEN ${LATENCY_STEP} END AS step,
        coalesce(e.charge, h.charge, 0) AS charge
      ${SUMMED} WHERE ${terms.join(" AND ")} OFFSET 0) s
    GROUP BY GROUPING SETS ((s.bar, s.state), (s.step))`;
  return { text, values };
}

/** @returns the lines of a page, as many as its limit */
export function linesQuery(filter: TextFilter, order: Order): Query {
  const { accountId, spenderIds, before, limit } = filter;
  const values: unknown[] = [accountId];
  const terms = conditionsOf(filter, values);
  if (before !== undefined) {
    const [beganAt, id] = [`$${values.push(before.beganAt)}`, `$${values.push(before.id)}`];
    const side = order === "DESC" ? "<" : ">";
    // The begin alone excludes partitions.
    terms.push(`t.began_at ${side}= ${beganAt} AND (t.began_at, t.id) ${side} (${beganAt}, ${id})`);
  }
  const most = `LIMIT $${values.push(limit)}`;
  const page = `ORDER BY t.began_at ${order}, t.id ${order} ${most}`;
  const own = `SELECT ${LINE} FROM text_line t WHERE ${terms.join(" AND ")}`;
  if (spenderIds === undefined) return { text: `${own} ${page}`, values };
  // A page of each spender, each from the index of its spender, and the first lines of all.
  const spenders = `unnest($${values.push(spenderIds)}::uuid[]) AS k (id)`;
  const text = `SELECT t.* FROM ${spenders}, LATERAL (${own} AND t.spender_id = k.id ${page}) t
    ORDER BY t."beganAt" ${order}, t.id ${order} ${most}`;
  return { text, values };
}

/** Each term as a filter names it, so that the index of the spender serves a filter by spender. @param values the account, then others */
function conditionsOf(filter: TextFilter, values: unknown[]): string[] {
  const { accountId, spenderId, model, provider, state, beganAfter, beganBefore } = filter;
  const terms = ["t.account_id = $1"];
  const add = (term: string, value: unknown) => {
    if (value !== undefined) terms.push(`${term} $${values.push(value)}`);
  };
  add("t.spender_id =", spenderId);
  add("t.model =", model);
  add(`${PROVIDER} =`, provider);
  add("t.began_at >", beganAfter);
  add("t.began_at <", beganBefore);
  // Open holds are few; the list is at most a second behind.
  if (state === "open") {
    const bucket = `$${values.push(bucketOf(accountId))}`;
    terms.push(
      `t.id = ANY (ARRAY (SELECT o.hold_id FROM open_hold o WHERE o.bucket = ${bucket} AND o.account_id = $1))`,
    );
  }
  return terms;
}
