// Statements on holds other than moving money: listing them, and leasing overdue ones to whoever resolves them.
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import type { LedgerTime } from "../writer/ledger-time.ts";
import type { Hold, HoldState, KeptCharge } from "./hold.ts";

export interface HoldFilter {
  readonly accountId: string | undefined;
  readonly state: HoldState | undefined;
  readonly limit: number;
  /** Of a hold that comes before the first of the page. */
  readonly after: string | undefined;
}

export interface HoldPage {
  readonly holds: readonly Hold[];
  readonly hasMore: boolean;
}

export interface Lease {
  /** Module that placed the holds. */
  readonly service: string;
  readonly limit: number;
  readonly leaseMs: bigint;
}

export interface HoldStore {
  /** Oldest first. */
  list(filter: HoldFilter): Promise<HoldPage>;
  /** Open holds past their deadline that nobody else has leased; oldest deadline first. With what was kept of them. */
  leaseExpired(lease: Lease): Promise<Hold[]>;
  countOpen(): Promise<OpenHolds[]>;
}

/** Of one service. */
export interface OpenHolds {
  readonly service: string;
  readonly open: number;
  /** Since the earliest deadline; 0 when that is still to come. */
  readonly overdueSeconds: number;
}

interface HoldRow {
  id: string;
  account_id: string;
  spender_id: string;
  credits: bigint;
  state: HoldState;
  charge: bigint | null;
  cost: bigint | null;
  attempt: number;
  service: string;
  provider: string;
  upstream_model: string;
  model: string;
  price_version: string;
  placed_at: Date;
  deadline_at: Date;
}

interface KeptRow extends KeptCharge {
  hold_id: string;
}

const COLUMNS = `id, account_id, spender_id, credits, state, charge, cost, attempt, service, provider, upstream_model, model,
  price_version, placed_at, deadline_at`;

/** SKIP LOCKED: holds that are being leased or resolved at this moment are somebody else's. */
const LEASE = `WITH expired AS (
    SELECT id FROM hold
     WHERE state = 'open' AND service = $1 AND deadline_at <= coalesce($4::timestamptz, now())
       AND (lease_until IS NULL OR lease_until <= coalesce($4::timestamptz, now()))
     ORDER BY deadline_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), leased AS (
    UPDATE hold SET lease_until = coalesce($4::timestamptz, now()) + $3::bigint * interval '1 millisecond'
     WHERE id IN (SELECT id FROM expired) RETURNING ${COLUMNS}
  )
  SELECT * FROM leased ORDER BY deadline_at, id`;

/** A statement of its own, after the lease: only this one is sure to see what was kept until the lease. */
const KEPT =
  "SELECT hold_id, credits, cost FROM idempotency WHERE hold_id = ANY ($1) AND content_type IS NOT NULL";

const COUNT_OPEN = `SELECT service, count(*)::int AS open,
    greatest(0, extract(epoch FROM coalesce($1::timestamptz, now()) - min(deadline_at)))::float8 AS "overdueSeconds"
  FROM hold WHERE state = 'open' GROUP BY service`;

export function createHoldStore(pool: Pool, time: LedgerTime): HoldStore {
  return {
    list: async ({ accountId, state, limit, after }) => {
      // Conditions are spelt out, so that a list of open holds can use their index.
      const conditions = ["true"];
      if (state !== undefined) conditions.push(`state = '${state}'`);
      const values: (string | number)[] = [limit + 1];
      if (accountId !== undefined) conditions.push(`account_id = $${values.push(accountId)}`);
      if (after !== undefined) {
        const last = `SELECT placed_at, id FROM hold WHERE id = $${values.push(after)}`;
        conditions.push(`(placed_at, id) > (${last})`);
      }
      const { rows } = await pool.query<HoldRow>(
        `SELECT ${COLUMNS} FROM hold WHERE ${conditions.join(" AND ")} ORDER BY placed_at, id LIMIT $1`,
        values,
      );
      return { holds: rows.slice(0, limit).map((row) => holdOf(row)), hasMore: rows.length > limit };
    },
    countOpen: async () => (await pool.query<OpenHolds>(COUNT_OPEN, [time()])).rows,
    leaseExpired: (lease) => inTransaction(pool, (client) => leaseExpired(client, lease, time())),
  };
}

async function leaseExpired(
  client: PoolClient,
  { service, limit, leaseMs }: Lease,
  at: Date | null,
): Promise<Hold[]> {
  const leased = await client.query<HoldRow>(LEASE, [service, limit, leaseMs, at]);
  if (leased.rows.length === 0) return [];
  const kept = await client.query<KeptRow>(KEPT, [leased.rows.map(({ id }) => id)]);
  const charges = new Map(kept.rows.map(({ hold_id, credits, cost }) => [hold_id, { credits, cost }]));
  return leased.rows.map((row) => holdOf(row, charges.get(row.id)));
}

function holdOf(row: HoldRow, kept?: KeptCharge): Hold {
  return {
    id: row.id,
    accountId: row.account_id,
    spenderId: row.spender_id,
    credits: row.credits,
    state: row.state,
    charge: row.charge ?? 0n,
    cost: row.cost ?? 0n,
    attempt: row.attempt,
    service: row.service,
    provider: row.provider,
    upstreamModel: row.upstream_model,
    model: row.model,
    priceVersion: row.price_version,
    placedAt: row.placed_at,
    deadlineAt: row.deadline_at,
    kept,
  };
}
