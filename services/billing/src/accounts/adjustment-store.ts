// Adjustments: corrections of an account's credit by the operator. One is booked once, with its entry in the journal and the
// balance in one transaction, and never changes.

import type { Credits } from "@gr/money";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import { invalid } from "../rpc/field-rules.ts";
import type { LedgerTime } from "../writer/ledger-time.ts";
import { noAccount } from "./account-store.ts";

export interface Adjustment {
  readonly id: string;
  readonly accountId: string;
  /** Above zero gives credit, below zero takes it; never zero. */
  readonly credits: Credits;
  /** For whoever reads the books. */
  readonly reason: string;
}

export interface AdjustmentStore {
  /** Does nothing when it is booked already. @throws ServiceError account_not_found, invalid_value */
  put(adjustment: Adjustment): Promise<void>;
}

export function createAdjustmentStore(pool: Pool, time: LedgerTime): AdjustmentStore {
  return { put: (adjustment) => inTransaction(pool, (client) => put(client, adjustment, time())) };
}

async function put(client: PoolClient, adjustment: Adjustment, at: Date | null): Promise<void> {
  const { id, accountId, credits, reason } = adjustment;
  const account = await client.query("SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  if (account.rowCount === 0) throw noAccount(accountId);
  const { rowCount } = await client.query(
    `INSERT INTO adjustment (id, account_id, credits, reason, created_at)
     VALUES ($1, $2, $3, $4, coalesce($5, now())) ON CONFLICT DO NOTHING`,
    [id, accountId, credits, reason, at],
  );
  if (rowCount === 0) return requireSame(await read(client, id), adjustment);
  await client.query(
    `INSERT INTO entry (at, account_id, adjustment_id, credits, kind)
     VALUES (coalesce($4, now()), $1, $2, $3, 'adjustment')`,
    [accountId, id, credits, at],
  );
  await client.query("UPDATE account SET credits = credits + $2 WHERE id = $1", [accountId, credits]);
}

async function read(client: PoolClient, id: string): Promise<Adjustment> {
  const { rows } = await client.query<Adjustment>(
    `SELECT id, account_id AS "accountId", credits, reason FROM adjustment WHERE id = $1`,
    [id],
  );
  const [known] = rows;
  if (known === undefined) throw new Error(`adjustment ${id} is neither new nor known`);
  return known;
}

/** @throws ServiceError invalid_value when `wanted` is another adjustment under the id of `known`. */
function requireSame(known: Adjustment, wanted: Adjustment): void {
  const same =
    known.accountId === wanted.accountId &&
    known.credits === wanted.credits &&
    known.reason === wanted.reason;
  if (!same) {
    throw invalid("adjustment_id", "This id belongs to an adjustment of another account, amount or reason");
  }
}
