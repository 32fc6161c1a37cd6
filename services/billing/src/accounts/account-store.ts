// Statements on accounts, spenders and deposits. Rows in, domain objects out.

import type { Credits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { inTransaction, type Page, type Pool, type PoolClient, pageOf } from "@gr/runtime";
import { invalid } from "../rpc/field-rules.ts";
import type { LedgerTime } from "../writer/ledger-time.ts";
import { type Deposit, type DepositEntry, type DepositStatus, depositEntry } from "./deposit.ts";
import type { Period, Spender, SpenderUsage } from "./spender.ts";

/** An account's credit at one moment. */
export interface CreditSummary {
  /** Completed deposits. */
  readonly deposited: Credits;
  /** Deposits and adjustments less charges; below zero after an overrun. */
  readonly remaining: Credits;
  readonly held: Credits;
  /** It may spend nothing. */
  readonly suspended: boolean;
  /** Oldest spender first; empty unless asked for. */
  readonly usage: readonly SpenderUsage[];
  /** There are more spenders, after the last of these. */
  readonly hasMore: boolean;
}

/** Which spenders' usage is read. */
export interface UsagePage extends Page {
  /** Only these. */
  readonly only?: readonly string[] | undefined;
}

export interface AccountStore {
  /** Does nothing when the account exists. */
  open(accountId: string): Promise<void>;
  /** Waits for what is being placed; afterwards nothing is, or may be again. @throws ServiceError account_not_found */
  setSuspended(accountId: string, suspended: boolean): Promise<void>;
  /**
   * Creates or replaces it; what it has used and holds stays.
   * @throws ServiceError account_not_found; invalid_value, with param spender.revision when a newer one is stored
   */
  putSpender(spender: Spender): Promise<void>;
  /** @throws ServiceError account_not_found, invalid_value */
  putDeposit(deposit: Deposit): Promise<void>;
  /**
   * @param page absent: no usage is read.
   * @throws ServiceError account_not_found; invalid_value with param `after` when that is no spender of the account
   */
  readCredits(accountId: string, page?: UsagePage): Promise<CreditSummary>;
  /** Rejects when PostgreSQL does not answer. */
  ping(): Promise<void>;
}

const FOREIGN_KEY_VIOLATION = "23503";

/**
 * A new period begins a new window at zero; holds of the old one no longer count. A call that its caller gave up may
 * arrive after a newer one, and must not undo it: a deleted key would spend again. The same revision is the same write.
 */
const PUT_SPENDER = `INSERT INTO spender AS s
    (id, account_id, name, cap, period, expires_at, active, created_at, revision)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, cap = excluded.cap, period = excluded.period, expires_at = excluded.expires_at,
    active = excluded.active, created_at = excluded.created_at, revision = excluded.revision,
    window_no = s.window_no + CASE WHEN s.period = excluded.period THEN 0 ELSE 1 END,
    window_start = CASE WHEN s.period = excluded.period THEN s.window_start END,
    window_used = CASE WHEN s.period = excluded.period THEN s.window_used ELSE 0 END,
    window_held = CASE WHEN s.period = excluded.period THEN s.window_held ELSE 0 END
  WHERE s.account_id = excluded.account_id AND s.revision <= excluded.revision`;

/**
 * One statement, so that the account and its spenders are of the same moment.
 * $2 = how many spenders, null for none; $4 = only these; $5 = those after this one.
 */
const READ_CREDITS = `SELECT a.credits, a.adjusted, a.debits, a.held AS account_held, a.suspended, s.*,
    s.window_start >= start_of_window(s.period, coalesce($3::timestamptz, now())) AS window_is_current,
    $5::uuid IS NULL OR EXISTS (SELECT FROM spender f WHERE f.id = $5 AND f.account_id = $1) AS after_is_known
  FROM (SELECT *, (SELECT coalesce(sum(j.credits), 0)::bigint FROM adjustment j WHERE j.account_id = $1) AS adjusted
          FROM account WHERE id = $1) a
  LEFT JOIN (
    SELECT * FROM spender x
     WHERE x.account_id = $1 AND $2::bigint IS NOT NULL AND ($4::uuid[] IS NULL OR x.id = ANY ($4))
       AND ($5::uuid IS NULL
            OR (x.created_at, x.id) > (SELECT f.created_at, f.id FROM spender f WHERE f.id = $5 AND f.account_id = $1))
     ORDER BY x.created_at, x.id LIMIT $2
  ) s ON true ORDER BY s.created_at, s.id`;

interface CreditRow {
  credits: bigint;
  /** As much of it comes from adjustments. */
  adjusted: bigint;
  debits: bigint;
  account_held: bigint;
  suspended: boolean;
  /** Null, as all that follow, in the only row of an account without spenders. */
  id: string | null;
  account_id: string;
  name: string;
  cap: bigint | null;
  period: Period;
  expires_at: Date | null;
  active: boolean;
  created_at: Date;
  revision: bigint;
  window_start: Date | null;
  window_used: bigint;
  used: bigint;
  requests: bigint;
  window_is_current: boolean | null;
  after_is_known: boolean;
}

export function createAccountStore(pool: Pool, time: LedgerTime): AccountStore {
  return {
    open: async (accountId) => {
      await pool.query("INSERT INTO account (id) VALUES ($1) ON CONFLICT DO NOTHING", [accountId]);
    },
    setSuspended: async (accountId, suspended) => {
      const sql = "UPDATE account SET suspended = $2 WHERE id = $1";
      if ((await pool.query(sql, [accountId, suspended])).rowCount === 0) throw noAccount(accountId);
    },
    putSpender: (spender) => putSpender(pool, spender),
    putDeposit: (deposit) => inTransaction(pool, (client) => putDeposit(client, deposit, time)),
    readCredits: async (accountId, page) => {
      const { limit = 0, after, only } = page ?? {};
      const values = [accountId, page && limit + 1, time(), only ?? null, after ?? null];
      const { rows } = await pool.query<CreditRow>(READ_CREDITS, values);
      const [first] = rows;
      if (first === undefined) throw noAccount(accountId);
      if (!first.after_is_known) throw invalid("after", "It must be the id of a spender of this account");
      const usage = rows.flatMap((row) => (row.id === null ? [] : [usageOf(row, row.id)]));
      const { entries, hasMore } = pageOf(usage, limit);
      return {
        deposited: first.credits - first.adjusted,
        remaining: first.credits - first.debits,
        held: first.account_held,
        suspended: first.suspended,
        usage: entries,
        hasMore,
      };
    },
    ping: async () => {
      await pool.query("SELECT");
    },
  };
}

async function putSpender(pool: Pool, spender: Spender): Promise<void> {
  const { id, accountId, name, cap, period, expiresAt, active, createdAt, revision } = spender;
  const values = [id, accountId, name, cap, period, expiresAt, active, createdAt, revision];
  const { rowCount } = await pool.query(PUT_SPENDER, values).catch((error: { code?: string }) => {
    throw error.code === FOREIGN_KEY_VIOLATION ? noAccount(accountId) : error;
  });
  if (rowCount !== 0) return;
  // Not of this account, or overtaken by a newer one; neither can change afterwards.
  const own = await pool.query("SELECT FROM spender WHERE id = $1 AND account_id = $2", [id, accountId]);
  if (own.rowCount === 0) throw invalid("spender.account_id", "This spender belongs to another account");
  throw invalid("spender.revision", "A newer revision of this spender is stored");
}

async function putDeposit(client: PoolClient, deposit: Deposit, time: LedgerTime): Promise<void> {
  const { id, accountId, credits, status, source } = deposit;
  const at = time();
  const account = await client.query("SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  if (account.rowCount === 0) throw noAccount(accountId);
  const inserted = await client.query(
    `INSERT INTO deposit (id, account_id, credits, status, source, created_at, changed_at)
     VALUES ($1, $2, $3, $4, $5, coalesce($6, now()), coalesce($6, now())) ON CONFLICT DO NOTHING`,
    [id, accountId, credits, status, source, at],
  );
  const known = inserted.rowCount === 1 ? undefined : await lockDeposit(client, id);
  const kind = depositEntry(known, deposit);
  if (known !== undefined && known.status !== status) {
    await client.query(
      "UPDATE deposit SET status = $2, changed_at = coalesce($3::timestamptz, now()) WHERE id = $1",
      [id, status, at],
    );
  }
  if (kind !== null) await bookDeposit(client, deposit, kind, at);
}

async function lockDeposit(client: PoolClient, id: string): Promise<Deposit | undefined> {
  const { rows } = await client.query<{
    account_id: string;
    credits: bigint;
    status: DepositStatus;
    source: string;
  }>("SELECT account_id, credits, status, source FROM deposit WHERE id = $1 FOR UPDATE", [id]);
  const [row] = rows;
  return (
    row && { id, accountId: row.account_id, credits: row.credits, status: row.status, source: row.source }
  );
}

async function bookDeposit(
  client: PoolClient,
  { id, accountId, credits }: Deposit,
  kind: NonNullable<DepositEntry>,
  at: Date | null,
): Promise<void> {
  await client.query(
    `INSERT INTO entry (at, account_id, deposit_id, credits, kind)
     VALUES (coalesce($5::timestamptz, now()), $1, $2, $3, $4)`,
    [accountId, id, credits, kind, at],
  );
  const change = kind === "deposit" ? credits : -credits;
  await client.query("UPDATE account SET credits = credits + $2 WHERE id = $1", [accountId, change]);
}

function usageOf(row: CreditRow, id: string): SpenderUsage {
  const current = row.window_is_current === true;
  return {
    spender: {
      id,
      accountId: row.account_id,
      name: row.name,
      cap: row.cap,
      period: row.period,
      expiresAt: row.expires_at,
      active: row.active,
      createdAt: row.created_at,
      revision: row.revision,
    },
    used: row.used,
    requests: row.requests,
    windowUsed: current || row.period === "lifetime" ? row.window_used : 0n,
    windowStart: current ? row.window_start : null,
  };
}

export function noAccount(accountId: string): ServiceError {
  return new ServiceError("account_not_found", `There is no account ${accountId}.`, { param: "account_id" });
}
