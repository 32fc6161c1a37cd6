// Every SQL statement of media generation. A row belongs to its worker, and after `due_at` to the next worker that
// claims it. Each change names its worker and returns false if the row has passed to another.
import { randomUUID } from "node:crypto";
import { ReleaseReason } from "@gr/clients";
import { type Ending, type Route, UNRESOLVED } from "@gr/paid-request";
import type { Pool } from "@gr/runtime";
import { insertDeliveries } from "../webhooks/delivery-store.ts";
import { BLOCKED, callerError, NOT_SENT, REFUSED } from "./caller-error.ts";
import type {
  AttemptTrace,
  CountedTokens,
  Generation,
  GenerationRequest,
  MediaOrder,
  MediaProduct,
  State,
} from "./generation.ts";
import type { SavedParts } from "./run-parts.ts";

/** Reason of a job that its process stopped to poll and another process continues. */
export const LEFT = "left";

export interface Dropped {
  /** Ids of rows that another worker has claimed. */
  readonly passed: readonly string[];
  /** Ids of rows that their clients have cancelled. */
  readonly cancelled: readonly string[];
}

export interface GenerationStore {
  /** @returns false if the id exists: one request is one generation */
  insert(order: MediaOrder, route: Route, leaseMs: number): Promise<boolean>;
  /** Records the next provider. */
  reroute(id: string, route: Route, attempts: readonly AttemptTrace[]): Promise<boolean>;
  /** Extends the leases of rows. @returns the rows that this process must not continue */
  renew(ids: readonly string[], leaseMs: number): Promise<Dropped>;
  saveOperations(id: string, operations: SavedParts): Promise<boolean>;
  /**
   * Records an unknown outcome. Unless the reason is `LEFT`, the client receives the answer that the request is free,
   * so no process continues it.
   * @returns whether another process may continue it; undefined if the row has passed to another worker
   */
  markUnknown(
    id: string,
    why: string,
    message: string,
    attempts: readonly AttemptTrace[],
  ): Promise<boolean | undefined>;
  /**
   * Ends an open generation. Its booking is fixed from here on, in any process.
   * @param made the output; absent: all files of the order, without previews
   * @returns undefined if the row has passed to another worker
   */
  finish(
    order: Pick<MediaOrder, "id" | "attempts">,
    ending: Ending,
    finishedAt: number,
    made?: Pick<MediaProduct, "outputs" | "previews" | "tokens">,
  ): Promise<Pick<Generation, "deleted"> | undefined>;
  /** Records that billing has booked the ending. */
  markBooked(id: string): Promise<void>;
  /** Billing refused to charge a success, so it has no owner. @returns the names of its files */
  markRefused(id: string): Promise<readonly string[]>;
  /** Postpones a row; `unbilled` counts a look-up without a bill. */
  postpone(id: string, waitMs: number, unbilled: boolean): Promise<void>;
  /** Claims due rows of any worker for `leaseMs`, except those in work in this process. */
  claimDue(limit: number, leaseMs: number, except: readonly string[]): Promise<Generation[]>;
  find(id: string): Promise<Generation | undefined>;
  /** Rejects if PostgreSQL does not answer. */
  ping(): Promise<void>;
}

interface GenerationRow {
  id: string;
  account_id: string;
  key_id: string;
  kind: MediaOrder["kind"];
  model: string;
  provider: string;
  upstream_model: string;
  operations: SavedParts | null;
  state: State;
  request: GenerationRequest;
  price_version: string;
  price_pico_usd: bigint;
  credits: bigint;
  charge_credits: bigint | null;
  cost_pico_usd: bigint | null;
  outputs: string[];
  attempts: AttemptTrace[] | null;
  tokens: CountedTokens | null;
  error_kind: string | null;
  error_message: string | null;
  deadline_at: Date;
  unbilled_lookups: number;
  asynchronous: boolean;
  created_at: Date;
  finished_at: Date | null;
  deleted_at: Date | null;
}

const COLUMNS = `id, account_id, key_id, kind, model, provider, upstream_model, operations, state, request,
  price_version, price_pico_usd, credits, charge_credits, cost_pico_usd, outputs, attempts, tokens, error_kind, error_message,
  deadline_at, unbilled_lookups, asynchronous, created_at, finished_at, deleted_at`;
const LEASE = "now() + $1 * interval '1 millisecond'";
const REFUSED_MESSAGE = "its hold had been resolved in another way";

/** Keeps the client's first answer. @param first number of the first of the two values from `toldOf` */
const tell = (first: number, at = "now()") =>
  `told_at = CASE WHEN $${first}::text IS NULL THEN told_at ELSE coalesce(told_at, ${at}) END,
   told_reason = coalesce(told_reason, $${first}), told_message = coalesce(told_message, $${first + 1})`;
const NOTHING_REPORTED = [null, null] as const;

/** Row after a change that may be the end of its generation for the client. */
interface Changed extends Pick<GenerationRow, "outputs"> {
  resumable: boolean;
  deleted: boolean;
}

/**
 * Returns the statement that runs the update and, in the same transaction, inserts the webhook of a generation that has
 * ended for its client: paid for, or refused with an error.
 */
const withWebhook = (update: string) => `WITH changed AS (
    ${update}
    RETURNING id, account_id, key_id, kind, model, state, told_at, booked_at, callback_url, outputs,
      operations IS NOT NULL AS resumable, deleted_at IS NOT NULL AS deleted
  ), event AS (${insertDeliveries(`
    SELECT id, account_id, key_id, callback_url AS url, kind || '.' || outcome AS type,
      json_build_object('id', id, 'kind', kind, 'status', outcome, 'model', model) AS data
    FROM changed, LATERAL (SELECT CASE state WHEN 'succeeded' THEN 'completed' ELSE 'failed' END AS outcome) one
    WHERE callback_url IS NOT NULL AND (told_at IS NOT NULL OR (state = 'succeeded' AND booked_at IS NOT NULL))`)}
  ) SELECT outputs, resumable, deleted FROM changed`;

/** @param worker id of this process. Each start has a new one, so that a dead process is another worker. */
export function createGenerationStore(pool: Pool, worker: string = randomUUID()): GenerationStore {
  const change = async (sql: string, values: unknown[]): Promise<boolean> =>
    (await pool.query(sql, values)).rowCount === 1;
  return {
    insert: (order, route, leaseMs) =>
      change(
        `INSERT INTO generation (due_at, worker, id, account_id, key_id, kind, model, provider, upstream_model, state,
           request, price_version, price_pico_usd, credits, outputs, deadline_at, created_at, asynchronous, claim_key,
           callback_url)
         VALUES (${LEASE}, $2, $3, $4, $5, $6, $7, $8, $9, 'running', $10, $11, $12, $13, $14, $15, $16, $17, $18,
           $19)
         ON CONFLICT (id) DO NOTHING`,
        [
          leaseMs,
          worker,
          order.id,
          order.accountId,
          order.keyId,
          order.kind,
          order.model,
          route.provider,
          route.upstreamModel,
          JSON.stringify(order.request),
          order.priceVersion,
          order.price,
          order.credits,
          JSON.stringify(order.outputs),
          new Date(order.deadlineAt),
          new Date(order.createdAt),
          order.asynchronous,
          order.claim?.key ?? null,
          order.callbackUrl ?? null,
        ],
      ),
    reroute: (id, { provider, upstreamModel }, attempts) =>
      change(
        `UPDATE generation SET provider = $3, upstream_model = $4, operations = NULL, attempts = $5
         WHERE id = $1 AND worker = $2 AND finished_at IS NULL`,
        [id, worker, provider, upstreamModel, JSON.stringify(attempts)],
      ),
    renew: async (ids, leaseMs) => {
      await pool.query(
        `UPDATE generation SET due_at = ${LEASE} WHERE worker = $2 AND id = ANY($3) AND booked_at IS NULL`,
        [leaseMs, worker, ids],
      );
      const { rows } = await pool.query<{ id: string; passed: boolean }>(
        `SELECT id, worker <> $2 AS passed FROM generation
         WHERE id = ANY($1) AND (worker <> $2 OR (deleted_at IS NOT NULL AND finished_at IS NULL))`,
        [ids, worker],
      );
      const those = (wanted: boolean) => rows.flatMap(({ id, passed }) => (passed === wanted ? [id] : []));
      return { passed: those(true), cancelled: those(false) };
    },
    saveOperations: (id, operations) =>
      change("UPDATE generation SET operations = $3 WHERE id = $1 AND worker = $2 AND finished_at IS NULL", [
        id,
        worker,
        JSON.stringify(operations),
      ]),
    markUnknown: async (id, why, message, attempts) => {
      const { rows } = await pool.query<Changed>(
        withWebhook(`UPDATE generation SET state = 'unknown', error_kind = $3, error_message = $4, due_at = now(),
           operations = CASE WHEN $3 = '${LEFT}' THEN operations END, attempts = $5, ${tell(6)}
         WHERE id = $1 AND worker = $2 AND finished_at IS NULL`),
        // A job that another process continues has not failed yet.
        [
          id,
          worker,
          why,
          withoutNul(message),
          JSON.stringify(attempts),
          ...(why === LEFT ? NOTHING_REPORTED : reportedError(why, message)),
        ],
      );
      return rows[0]?.resumable;
    },
    finish: async ({ id, attempts }, ending, finishedAt, made) => {
      const { state, charge, cost, why, message } = rowOf(ending);
      const { rows } = await pool.query<Changed>(
        withWebhook(`UPDATE generation SET state = $3, charge_credits = $4, cost_pico_usd = $5, error_kind = $6,
           error_message = $7, finished_at = $8, outputs = coalesce($9, outputs), previews = $10, tokens = $11,
           attempts = $12, ${tell(13, "$8")}
         WHERE id = $1 AND worker = $2 AND finished_at IS NULL`),
        [
          id,
          worker,
          state,
          charge,
          cost,
          why,
          message,
          new Date(finishedAt),
          made === undefined ? null : JSON.stringify(made.outputs),
          JSON.stringify(made?.previews ?? []),
          made?.tokens === undefined ? null : JSON.stringify(made.tokens),
          JSON.stringify(attempts),
          ...(ending.kind === "released" ? reportedError(ending.why, ending.message) : NOTHING_REPORTED),
        ],
      );
      return rows[0];
    },
    markBooked: async (id) => {
      await pool.query(
        withWebhook(
          "UPDATE generation SET booked_at = now() WHERE id = $1 AND finished_at IS NOT NULL AND booked_at IS NULL",
        ),
        [id],
      );
    },
    markRefused: async (id) => {
      const { rows } = await pool.query<Changed>(
        withWebhook(`UPDATE generation SET state = 'failed', charge_credits = 0, error_kind = $2, error_message = $3,
           booked_at = now(), ${tell(4)}
         WHERE id = $1 AND state = 'succeeded' AND booked_at IS NULL`),
        [id, REFUSED, REFUSED_MESSAGE, ...reportedError(REFUSED, REFUSED_MESSAGE)],
      );
      return rows[0]?.outputs ?? [];
    },
    postpone: async (id, waitMs, unbilled) => {
      await pool.query(
        `UPDATE generation SET due_at = ${LEASE}, unbilled_lookups = unbilled_lookups + $4
         WHERE id = $2 AND worker = $3 AND booked_at IS NULL`,
        [waitMs, id, worker, unbilled ? 1 : 0],
      );
    },
    claimDue: async (limit, leaseMs, except) => {
      const { rows } = await pool.query<GenerationRow>(
        `UPDATE generation SET worker = $2, due_at = ${LEASE} WHERE id IN (
           SELECT id FROM generation WHERE booked_at IS NULL AND due_at <= now() AND id <> ALL($4)
           ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         RETURNING ${COLUMNS}`,
        [leaseMs, worker, limit, except],
      );
      return rows.map(generationOf);
    },
    find: async (id) => {
      const { rows } = await pool.query<GenerationRow>(`SELECT ${COLUMNS} FROM generation WHERE id = $1`, [
        id,
      ]);
      return rows.map(generationOf)[0];
    },
    ping: async () => {
      await pool.query("SELECT 1");
    },
  };
}

function generationOf(row: GenerationRow): Generation {
  const finishedAt = row.finished_at?.getTime();
  return {
    order: {
      id: row.id,
      accountId: row.account_id,
      keyId: row.key_id,
      kind: row.kind,
      model: row.model,
      priceVersion: row.price_version,
      price: row.price_pico_usd,
      credits: row.credits,
      request: row.request,
      outputs: row.outputs,
      asynchronous: row.asynchronous,
      hasSeveralBills: row.request.n > 1,
      createdAt: row.created_at.getTime(),
      attempts: row.attempts ?? [],
      deadlineAt: row.deadline_at.getTime(),
    },
    route: { provider: row.provider, upstreamModel: row.upstream_model },
    state: row.state,
    operations: row.operations,
    unbilledLookUps: row.unbilled_lookups,
    tokens: row.tokens ?? undefined,
    deleted: row.deleted_at !== null,
    ended: finishedAt === undefined ? null : { ending: endingOf(row), finishedAt },
  };
}

function rowOf(ending: Ending) {
  if (ending.kind === "captured") {
    const { charge, cost } = ending.bill;
    return { state: "succeeded", charge, cost, why: null, message: null };
  }
  const { cost, why } = ending;
  const state = why === BLOCKED ? "blocked" : "failed";
  return { state, charge: 0n, cost, why, message: withoutNul(ending.message) };
}

function endingOf(row: GenerationRow): Ending {
  const { charge_credits: charge, cost_pico_usd: cost } = row;
  if (charge === null || cost === null) {
    throw new Error(`generation ${row.id} has ended, but its row does not say how`);
  }
  if (row.state === "succeeded") return { kind: "captured", bill: { charge, cost } };
  const why = row.error_kind ?? "";
  const { provider } = row;
  return { kind: "released", reason: reasonOf(why), cost, provider, why, message: row.error_message ?? "" };
}

function reasonOf(why: string): ReleaseReason {
  if (why === UNRESOLVED) return ReleaseReason.UNRESOLVED;
  return why === NOT_SENT ? ReleaseReason.NOT_SENT : ReleaseReason.FAILED;
}

function reportedError(why: string, message: string): readonly [reason: string, message: string] {
  const reported = callerError(why, message);
  return [reported.reason, withoutNul(reported.message)];
}

/** PostgreSQL refuses a NUL in text. */
function withoutNul(text: string): string {
  return text.replaceAll("\0", "�");
}
