// Earlier-credit store owns the reads of deposits and adjustments from before the chain of steps, so an id that was booked there is
// never booked again.
import type { Id } from "@gr/ledger";
import type { PoolClient } from "@gr/runtime";
import type { Adjustment } from "../accounts/accounts.ts";
import type { Deposit } from "../accounts/deposit.ts";

const DEPOSIT = 'SELECT account_id AS "accountId", credits, status, source FROM deposit WHERE id = $1';
const ADJUSTMENT = 'SELECT account_id AS "accountId", credits, reason FROM adjustment WHERE id = $1';

type EarlierDeposit = Omit<Deposit, "id">;
type EarlierAdjustment = Omit<Adjustment, "id">;

/** The status at the time of the carry; later reports are behind it. */
export async function earlierDeposit(client: PoolClient, id: Id): Promise<EarlierDeposit | undefined> {
  return (await client.query<EarlierDeposit>({ name: "earlier_deposit", text: DEPOSIT, values: [id] }))
    .rows[0];
}

export async function earlierAdjustment(client: PoolClient, id: Id): Promise<EarlierAdjustment | undefined> {
  return (
    await client.query<EarlierAdjustment>({ name: "earlier_adjustment", text: ADJUSTMENT, values: [id] })
  ).rows[0];
}
