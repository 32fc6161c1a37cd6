// The SQL of deliveries: the log that clients see, and the work list of the sender. An attempt leases its row, so the
// delivery of a dead process is repeated after the lease. Other rooms insert with `insertDeliveries`, in their own statement.
import type { Pool } from "@gr/runtime";
import type { Delivery, DeliveryState, WebhookEvent } from "./delivery.ts";
import type { Excluded } from "./sender-places.ts";

/** Pending deliveries of one account. A further event is recorded as failed, and can be redelivered. */
export const MOST_PENDING = 10_000;

export interface DeliveryOwner {
  readonly accountId: string;
  /** Absent: all keys of the account. */
  readonly keyId?: string | undefined;
}

export interface DeliveryStore {
  /** Inserts an event unless its id exists. */
  add(event: WebhookEvent): Promise<void>;
  /** Returns due deliveries, the longest due first, but of none that is excluded. @param now Unix milliseconds */
  findDue(now: number, excluded: Excluded, limit: number): Promise<Delivery[]>;
  /** Leases due deliveries for an attempt. @returns those that no other process has leased meanwhile */
  claim(ids: readonly string[], now: number, until: number): Promise<Delivery[]>;
  recordDelivered(id: string, status: number, now: number): Promise<void>;
  /** @param nextAt Unix milliseconds; undefined: no further attempt */
  recordFailure(
    id: string,
    failure: { readonly status?: number | undefined; readonly error: string },
    now: number,
    nextAt: number | undefined,
  ): Promise<void>;
  /** Ends the lease of an attempt that was interrupted. */
  release(id: string, now: number): Promise<void>;
  /** Returns the latest first. @param before id of a delivery; the page begins after it. Its time in a `Date` is too coarse for this */
  list(
    owner: DeliveryOwner,
    state: DeliveryState | undefined,
    before: string | undefined,
    limit: number,
  ): Promise<Delivery[]>;
  find(owner: DeliveryOwner, id: string): Promise<Delivery | undefined>;
  /** Begins the attempts of an ended delivery anew. @returns undefined if it is pending */
  restart(id: string, now: number): Promise<Delivery | undefined>;
  /** Deletes the oldest deliveries that ended before this time. @returns their number */
  deleteEnded(before: number, limit: number): Promise<number>;
}

interface DeliveryRow {
  id: string;
  account_id: string;
  key_id: string;
  url: string;
  receiver: string;
  type: string;
  data: object;
  state: DeliveryState;
  attempts: number;
  started_at: Date;
  due_at: Date;
  created_at: Date;
  last_attempt_at: Date | null;
  last_status: number | null;
  last_error: string | null;
  ended_at: Date | null;
}

const COLUMNS = `id, account_id, key_id, url, receiver, type, data, state, attempts, started_at, due_at, created_at,
  last_attempt_at, last_status, last_error, ended_at`;
const TOO_MANY = `the account has ${MOST_PENDING} deliveries that wait`;

/**
 * Returns the statement that inserts events: at most one delivery for each id.
 * @param events query with the columns id, account_id, key_id, url, type, data
 */
export function insertDeliveries(events: string): string {
  return `INSERT INTO webhook_delivery (id, account_id, key_id, url, type, data, state, last_error, ended_at)
    SELECT event.id, event.account_id, event.key_id, event.url, event.type, event.data,
      CASE WHEN waiting.fits THEN 'pending' ELSE 'failed' END,
      CASE WHEN waiting.fits THEN NULL ELSE '${TOO_MANY}' END,
      CASE WHEN waiting.fits THEN NULL ELSE now() END
    FROM (${events}) event, LATERAL (
      SELECT count(*) < ${MOST_PENDING} AS fits FROM (
        SELECT FROM webhook_delivery WHERE account_id = event.account_id AND state = 'pending'
        LIMIT ${MOST_PENDING}) one) waiting
    ON CONFLICT (id) DO NOTHING`;
}

export function createDeliveryStore(pool: Pool): DeliveryStore {
  const select = async (text: string, values: unknown[]) =>
    (await pool.query<DeliveryRow>(text, values)).rows.map(deliveryOf);
  return {
    add: async ({ id, accountId, keyId, url, type, data }) => {
      const event = `SELECT $1::uuid AS id, $2::uuid AS account_id, $3 AS key_id, $4 AS url, $5 AS type,
        $6::json AS data`;
      await pool.query(insertDeliveries(event), [id, accountId, keyId, url, type, JSON.stringify(data)]);
    },
    findDue: (now, { accounts, receivers }, limit) =>
      select(
        `SELECT ${COLUMNS} FROM webhook_delivery WHERE state = 'pending' AND due_at <= $1
           AND account_id <> ALL($2) AND account_id || ' ' || receiver <> ALL($3)
         ORDER BY due_at LIMIT $4`,
        [new Date(now), accounts, receivers, limit],
      ),
    claim: (ids, now, until) =>
      select(
        `UPDATE webhook_delivery SET due_at = $3 WHERE id IN (
           SELECT id FROM webhook_delivery WHERE id = ANY($1) AND state = 'pending' AND due_at <= $2
           FOR UPDATE SKIP LOCKED)
         RETURNING ${COLUMNS}`,
        [ids, new Date(now), new Date(until)],
      ),
    recordDelivered: async (id, status, now) => {
      await pool.query(
        `UPDATE webhook_delivery SET state = 'delivered', attempts = attempts + 1, last_attempt_at = $2,
           last_status = $3, last_error = NULL, ended_at = $2 WHERE id = $1 AND state = 'pending'`,
        [id, new Date(now), status],
      );
    },
    recordFailure: async (id, { status, error }, now, nextAt) => {
      const isOver = nextAt === undefined;
      await pool.query(
        `UPDATE webhook_delivery SET state = $2, attempts = attempts + 1, last_attempt_at = $3, last_status = $4,
           last_error = $5, due_at = $6, ended_at = $7 WHERE id = $1 AND state = 'pending'`,
        [
          id,
          isOver ? "failed" : "pending",
          new Date(now),
          status ?? null,
          error,
          new Date(nextAt ?? now),
          isOver ? new Date(now) : null,
        ],
      );
    },
    release: async (id, now) => {
      const text = "UPDATE webhook_delivery SET due_at = $2 WHERE id = $1 AND state = 'pending'";
      await pool.query(text, [id, new Date(now)]);
    },
    list: ({ accountId, keyId }, state, before, limit) =>
      select(
        `SELECT ${COLUMNS} FROM webhook_delivery WHERE account_id = $1 AND ($2::text IS NULL OR key_id = $2)
           AND ($3::text IS NULL OR state = $3)
           AND ($4::uuid IS NULL OR (created_at, id) < (SELECT created_at, id FROM webhook_delivery WHERE id = $4))
         ORDER BY created_at DESC, id DESC LIMIT $5`,
        [accountId, keyId ?? null, state ?? null, before ?? null, limit],
      ),
    find: async ({ accountId, keyId }, id) => {
      const text = `SELECT ${COLUMNS} FROM webhook_delivery WHERE id = $1 AND account_id = $2
        AND ($3::text IS NULL OR key_id = $3)`;
      return (await select(text, [id, accountId, keyId ?? null]))[0];
    },
    restart: async (id, now) => {
      const text = `UPDATE webhook_delivery SET state = 'pending', attempts = 0, started_at = $2, due_at = $2,
          last_error = NULL, ended_at = NULL
        WHERE id = $1 AND state <> 'pending' RETURNING ${COLUMNS}`;
      return (await select(text, [id, new Date(now)]))[0];
    },
    deleteEnded: async (before, limit) => {
      const { rowCount } = await pool.query(
        `DELETE FROM webhook_delivery WHERE id IN (
           SELECT id FROM webhook_delivery WHERE ended_at < $1 ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [new Date(before), limit],
      );
      return rowCount ?? 0;
    },
  };
}

function deliveryOf(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    url: row.url,
    receiver: row.receiver,
    type: row.type,
    data: row.data,
    state: row.state,
    attempts: row.attempts,
    startedAt: row.started_at.getTime(),
    dueAt: row.due_at.getTime(),
    createdAt: row.created_at.getTime(),
    lastAttemptAt: row.last_attempt_at?.getTime(),
    lastStatus: row.last_status ?? undefined,
    lastError: row.last_error ?? undefined,
    endedAt: row.ended_at?.getTime(),
  };
}
