// The SQL of the log as clients see it: pages, newest first, each found in an index, and the deletion of content.
// The statements of running work are in generation/store.ts.

import type { Credits } from "@gr/money";
import { isReason, type Reason, ServiceError } from "@gr/proto";
import type { RequestState } from "@gr/request-record";
import { isServerTrouble, type Pool } from "@gr/runtime";
import { callerError } from "../generation/caller-error.ts";
import type { AttemptTrace, GenerationRequest } from "../generation/generation.ts";
import type { LogEntry } from "./log-entry.ts";

/** Owner of the entries: one key, or the whole account. */
export interface LogOwner {
  readonly accountId: string;
  readonly keyId?: string | undefined;
}

export interface LogFilter {
  readonly kind?: LogEntry["kind"] | undefined;
  readonly model?: string | undefined;
  /** Of the last attempt, or of the running one. */
  readonly provider?: string | undefined;
  /** Only these keys; absent = all. */
  readonly keyIds?: readonly string[] | undefined;
  readonly status?: RequestState | undefined;
  /** Unix milliseconds; entries of exactly this time are excluded. */
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
  /** Excludes deleted entries, but for running and cancelled ones. */
  readonly isPresent?: boolean | undefined;
  /** Absent: newest first. */
  readonly isOldestFirst?: boolean | undefined;
}

export interface LogBars {
  /** Unix milliseconds. */
  readonly from: number;
  readonly widthMs: number;
}

export interface LogSum {
  readonly bar: number;
  readonly status: RequestState;
  readonly requests: bigint;
  readonly charge: Credits;
}

export interface LogSums {
  /** Unix milliseconds. */
  readonly oldestAt: number | undefined;
  readonly sums: readonly LogSum[];
  readonly latencies: readonly { readonly step: number; readonly requests: bigint }[];
}

export interface LogStore {
  /** @param before limits the page to the entries after this one, in the order of the page */
  list(
    owner: LogOwner,
    filter: LogFilter,
    before: Pick<LogEntry, "id" | "createdAt"> | undefined,
    limit: number,
  ): Promise<LogEntry[]>;
  /** Sums all entries. @param bars undefined: only the oldest is found */
  sum(owner: LogOwner, filter: LogFilter, bars: LogBars | undefined): Promise<LogSums>;
  find(owner: LogOwner, id: string): Promise<LogEntry | undefined>;
  /** Returns the running entry of an Idempotency-Key. @param claimKey its digest */
  findRunning(owner: LogOwner, claimKey: Uint8Array): Promise<LogEntry | undefined>;
  /**
   * Deletes the prompt and withdraws the files from the client. The worker of a running entry is to cancel it.
   * @returns undefined while a client waits for its answer: nothing was changed
   */
  removeContent(entry: LogEntry): Promise<"ended" | "running" | undefined>;
}

interface LogRow {
  id: string;
  account_id: string;
  key_id: string;
  kind: LogEntry["kind"];
  model: string;
  status: RequestState;
  request: GenerationRequest;
  outputs: string[];
  previews: string[];
  accepted: boolean;
  progress: number | null;
  provider: string;
  attempts: readonly AttemptTrace[] | null;
  price_version: string;
  price_pico_usd: bigint;
  charge_credits: bigint | null;
  error_kind: string | null;
  error_message: string | null;
  told_reason: string | null;
  told_message: string | null;
  told_at: Date | null;
  created_at: Date;
  finished_at: Date | null;
  deleted_at: Date | null;
  expired_at: Date | null;
}

/** An unknown outcome is a failure for a client that received an error: it will never be charged. */
const STATUS = `CASE
  WHEN state = 'succeeded' AND booked_at IS NOT NULL THEN 'succeeded'
  WHEN state IN ('running', 'succeeded') OR (state = 'unknown' AND told_at IS NULL) THEN 'running'
  WHEN state = 'blocked' THEN 'blocked'
  WHEN told_reason = '${"generation_cancelled" satisfies Reason}' THEN 'cancelled'
  ELSE 'failed' END`;
/** Conditions in the words of their indexes. */
const OF_KIND = { image: "kind = 'image'", video: "kind = 'video'" } as const;
const NOT_SUCCEEDED = "state IN ('failed', 'blocked', 'unknown')";
const COLUMNS = `id, account_id, key_id, kind, model, ${STATUS} AS status, request, outputs, previews,
  operations IS NOT NULL AS accepted, progress, provider, attempts, price_version,
  price_pico_usd, charge_credits, error_kind,
  error_message, told_reason, told_message, told_at, created_at, finished_at, deleted_at, expired_at`;

export function createLogStore(pool: Pool): LogStore {
  const select = async ({ text, values }: Query) =>
    (await reading(pool.query<LogRow>(text, values))).rows.map(entryOf);
  return {
    list: (owner, filter, before, limit) => select(pageQuery(owner, filter, before, limit)),
    sum: async (owner, filter, bars) => {
      if (bars === undefined) {
        const oldest = pageQuery(owner, { ...filter, isOldestFirst: true }, undefined, 1);
        return { oldestAt: (await select(oldest))[0]?.createdAt, sums: [], latencies: [] };
      }
      const { text, values } = sumQuery(owner, filter, bars);
      const { rows } = await reading(pool.query<SumRow>(text, values));
      return {
        oldestAt: undefined,
        sums: rows.flatMap(({ is_bar, bar, status, requests, charge }) =>
          is_bar ? [{ bar, status, requests, charge }] : [],
        ),
        latencies: rows.flatMap(({ is_bar, step, requests }) =>
          is_bar || step === null ? [] : [{ step, requests }],
        ),
      };
    },
    find: async (owner, id) => {
      const { text, values } = conditions([...ownerTerms(owner), ["id = ", id]]);
      return (await select({ text: `SELECT ${COLUMNS} FROM generation WHERE ${text}`, values }))[0];
    },
    findRunning: async (owner, claimKey) => {
      const { text, values } = conditions([...ownerTerms(owner), ["claim_key = ", claimKey]]);
      const newest = `${text} AND booked_at IS NULL ORDER BY created_at DESC LIMIT 1`;
      const [entry] = await select({ text: `SELECT ${COLUMNS} FROM generation WHERE ${newest}`, values });
      return entry?.status === "running" ? entry : undefined;
    },
    removeContent: async ({ id, request: { prompt: _, ...request } }) => {
      const { rows } = await pool.query<{ ended: boolean }>(
        `UPDATE generation SET request = $2, deleted_at = coalesce(deleted_at, now())
         WHERE id = $1 AND (finished_at IS NOT NULL OR told_at IS NOT NULL OR asynchronous)
         RETURNING finished_at IS NOT NULL OR told_at IS NOT NULL AS ended`,
        [id, JSON.stringify(request)],
      );
      return rows[0] && (rows[0].ended ? "ended" : "running");
    },
  };
}

/** A read changes nothing, so a database problem is a plain "try again" and no internal error. */
async function reading<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (cause) {
    if (!isServerTrouble(cause)) throw cause;
    const message = "The log of generations cannot be read right now; try again shortly.";
    throw new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause });
  }
}

export interface Query {
  readonly text: string;
  readonly values: unknown[];
}

/** A condition in front of its value, with places for its values where it has `?`, or without any. */
type Term = readonly [sql: string, ...values: unknown[]];

interface SumRow {
  is_bar: boolean;
  bar: number;
  status: RequestState;
  step: number | null;
  requests: bigint;
  charge: bigint;
}

/** Steps of one percent. Counts add up, so each sum of them has a median. */
const LATENCY_STEP = `floor(ln(greatest(extract(epoch FROM coalesce(told_at, finished_at) - created_at)::double precision * 1000, 1)) / ln(1.01))::integer`;

function sumQuery(owner: LogOwner, filter: LogFilter, { from, widthMs }: LogBars): Query {
  const terms = termsOf(owner, filter);
  if (filter.keyIds !== undefined) terms.push(["key_id = ANY (?::text[])", filter.keyIds]);
  const { text, values } = conditions(terms);
  const [begin, width] = [`$${values.length + 1}`, `$${values.length + 2}`].map(
    (one) => `${one}::double precision`,
  );
  return {
    text: `SELECT grouping(s.step) = 1 AS is_bar, s.bar, s.status, s.step, count(*) AS requests, coalesce(sum(s.charge), 0)::bigint AS charge
      FROM (SELECT floor((extract(epoch FROM created_at) * 1000 - ${begin}) / ${width})::integer AS bar, ${STATUS} AS status,
          CASE WHEN ${STATUS} = 'succeeded' THEN ${LATENCY_STEP} END AS step,
          CASE WHEN ${STATUS} = 'running' THEN 0 ELSE coalesce(charge_credits, 0) END AS charge
        FROM generation WHERE ${text}) s
      GROUP BY GROUPING SETS ((s.bar, s.status), (s.step))`,
    values: [...values, from, widthMs],
  };
}

export function pageQuery(
  owner: LogOwner,
  filter: LogFilter,
  before: Pick<LogEntry, "id" | "createdAt"> | undefined,
  limit: number,
): Query {
  const { keyIds, isOldestFirst } = filter;
  const terms = termsOf(owner, filter);
  const [beyond, direction] = isOldestFirst ? [">", "ASC"] : ["<", "DESC"];
  if (before !== undefined) {
    terms.push([`(created_at, id) ${beyond} (?, ?)`, new Date(before.createdAt), before.id]);
  }
  const { text, values } = conditions(terms);
  const order = `ORDER BY created_at ${direction}, id ${direction} LIMIT $${values.length + 1}`;
  const page = (more: string) => `SELECT ${COLUMNS} FROM generation WHERE ${text}${more} ${order}`;
  if (keyIds === undefined) return { text: page(""), values: [...values, limit] };
  // A page of each key, each from the index of its key, and the first entries of all.
  const keys = `unnest($${values.length + 2}::text[]) AS k (key)`;
  return {
    text: `SELECT p.* FROM ${keys}, LATERAL (${page(" AND key_id = k.key")}) p ${order}`,
    values: [...values, limit, keyIds],
  };
}

function termsOf(owner: LogOwner, filter: LogFilter): Term[] {
  const { kind, model, provider, status, createdAfter, createdBefore, isPresent } = filter;
  const terms: Term[] = ownerTerms(owner);
  if (kind !== undefined) terms.push([OF_KIND[kind]]);
  if (model !== undefined) terms.push(["model = ", model]);
  if (provider !== undefined) terms.push(["provider = ", provider]);
  if (status !== undefined) terms.push([`${STATUS} = `, status]);
  // Repeats an implied condition, so that PostgreSQL uses the index of open rows, which are few among many.
  if (status === "running") terms.push(["booked_at IS NULL"]);
  // Unsuccessful entries have such an index, too.
  else if (status !== undefined && status !== "succeeded") terms.push([NOT_SUCCEEDED]);
  if (createdAfter !== undefined) terms.push(["created_at > ", new Date(createdAfter)]);
  if (createdBefore !== undefined) terms.push(["created_at < ", new Date(createdBefore)]);
  if (isPresent) terms.push([`(deleted_at IS NULL OR ${STATUS} IN ('running', 'cancelled'))`]);
  return terms;
}

function ownerTerms({ accountId, keyId }: LogOwner): Term[] {
  return [["account_id = ", accountId], ...(keyId === undefined ? [] : [["key_id = ", keyId] as const])];
}

function conditions(terms: readonly Term[]): Query {
  const values: unknown[] = [];
  const place = (value: unknown) => `$${values.push(value)}`;
  const texts = terms.map(([sql, ...own]) => {
    if (own.length === 0) return sql;
    return sql.includes("?") ? sql.replaceAll("?", () => place(own.shift())) : sql + place(own[0]);
  });
  return { text: texts.join(" AND "), values };
}

function entryOf(row: LogRow): LogEntry {
  const { status } = row;
  const ended = status !== "running";
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    kind: row.kind,
    model: row.model,
    status,
    request: row.request,
    outputs: row.outputs,
    previews: row.previews,
    isAccepted: row.accepted,
    progress: ended ? undefined : (row.progress ?? undefined),
    error: ended && status !== "succeeded" ? errorOf(row) : undefined,
    provider: row.provider,
    attempts: row.attempts ?? [],
    priceVersion: row.price_version,
    price: row.price_pico_usd,
    charge: ended ? (row.charge_credits ?? 0n) : undefined,
    createdAt: row.created_at.getTime(),
    finishedAt: ended ? (row.told_at ?? row.finished_at)?.getTime() : undefined,
    deleted: row.deleted_at !== null,
    expired: row.expired_at !== null,
  };
}

function errorOf({
  told_reason: reported,
  told_message,
  error_kind,
  error_message,
}: LogRow): LogEntry["error"] {
  // Rows from before migration 0002 lack the client's error. Rows from a newer version may have
  // reasons that this version lacks.
  const { reason, message } = callerError(error_kind ?? "", error_message ?? "");
  return {
    reason: reported !== null && isReason(reported) ? reported : reason,
    message: told_message ?? message,
  };
}
