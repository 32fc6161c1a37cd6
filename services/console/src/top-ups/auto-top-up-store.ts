// Automatic top-ups on their tables. The row of an account is locked while a top-up is decided: of several processes one decides,
// on a balance that is read under the lock. A primary key allows one open charge of an account.
import { type Credits, formatCredits } from "@gr/money";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import { v7 } from "uuid";
import type { TopUpKind } from "../alert-kind.ts";
import { addAlertIn } from "../alerts/alert-store.ts";

export interface AutoTopUpRule {
  readonly isOn: boolean;
  readonly threshold: Credits;
  readonly amount: Credits;
  /** Of one month in UTC. */
  readonly monthlyLimit: Credits;
}

export interface AutoTopUp extends AutoTopUpRule {
  /** E-mail address of the person who changed it last. */
  readonly changedBy: string;
  /** Reason for which a failed, refunded or disputed charge has switched it off. */
  readonly problem: string | null;
}

export interface AccountCredit {
  readonly balance: Credits;
  /** A suspended account is not topped up: it may not spend. */
  readonly isSuspended: boolean;
}

/** begun: a payment was stored and is not charged yet; open: an earlier one is not finished. */
export type TopUpDecision =
  | { readonly outcome: "begun"; readonly paymentId: string; readonly credits: Credits }
  | { readonly outcome: "open"; readonly paymentId: string }
  | { readonly outcome: "off" | "enough" | "limit" };

export interface AutoTopUpStore {
  ruleOf(accountId: string): Promise<AutoTopUp | undefined>;
  /** Credits of automatic charges in the month of this time, without failed ones. */
  spentInMonth(accountId: string, now: Date): Promise<Credits>;
  /** The account is checked at once. */
  save(accountId: string, rule: AutoTopUpRule, changedBy: string, now: Date): Promise<void>;
  /** Switches off without a reason, as a person does. */
  switchOff(accountId: string): Promise<void>;
  /** Claims the account that is due for the longest time. @returns undefined if none is due */
  claimDue(now: Date, nextDue: Date): Promise<string | undefined>;
  /** Decides about an account under its lock. @param read returns the credit of the account at billing */
  decide(accountId: string, now: Date, read: () => Promise<AccountCredit>): Promise<TopUpDecision>;
  /** Stores an alert that is waiting. @returns its kind; undefined if none waits */
  report(sendsMail: boolean, now: Date): Promise<TopUpKind | undefined>;
}

const RULE = `is_on AS "isOn", threshold_credits AS threshold, amount_credits AS amount,
  monthly_limit_credits AS "monthlyLimit"`;

const SAVE = `INSERT INTO auto_top_up (account_id, is_on, threshold_credits, amount_credits, monthly_limit_credits,
    changed_by, due_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (account_id) DO UPDATE SET is_on = excluded.is_on, threshold_credits = excluded.threshold_credits,
    amount_credits = excluded.amount_credits, monthly_limit_credits = excluded.monthly_limit_credits,
    changed_by = excluded.changed_by, due_at = excluded.due_at, problem = NULL, limit_month = NULL`;

const CLAIM = `UPDATE auto_top_up SET due_at = $2 WHERE account_id = (
    SELECT account_id FROM auto_top_up WHERE is_on AND due_at <= $1
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING account_id AS "accountId"`;

const LOCK = `SELECT ${RULE}, a.changed_by AS "changedBy", a.limit_month AS "limitMonth",
    p.customer_id AS "customerId", p.payment_method_id AS "paymentMethodId"
  FROM auto_top_up a JOIN payer p USING (account_id) WHERE account_id = $1 FOR UPDATE OF a`;

const OPEN = "SELECT payment_id AS id FROM open_charge WHERE account_id = $1";

const SPENT = `SELECT coalesce(sum(credits), 0)::bigint AS credits FROM payment
  WHERE account_id = $1 AND is_automatic AND status <> 'failed' AND created_at >= $2 AND created_at < $3`;

/** The id of the session is no Checkout: see the migration. */
const BEGIN = `INSERT INTO payment (id, account_id, credits, status, asked_by, is_automatic, customer_id, payment_method_id,
    session_id, created_at, changed_at)
  VALUES ($1, $2, $3, 'pending', $4, true, $5, $6, $8, $7, $7)`;

const ADD_OPEN = "INSERT INTO open_charge (account_id, payment_id) VALUES ($1, $2)";

const REPORT_LIMIT = `UPDATE auto_top_up SET limit_month = $2, report = $3 WHERE account_id = $1`;

const CLAIM_REPORT = `SELECT account_id AS "accountId", report FROM auto_top_up WHERE report IS NOT NULL
  LIMIT 1 FOR UPDATE SKIP LOCKED`;

interface LockedRule extends AutoTopUpRule {
  readonly changedBy: string;
  readonly limitMonth: string | null;
  readonly customerId: string;
  readonly paymentMethodId: string | null;
}

/** Facts of the alert as they are shown: amounts are USD. */
interface Report {
  readonly kind: TopUpKind;
  readonly [fact: string]: string;
}

export function createAutoTopUpStore(pool: Pool): AutoTopUpStore {
  return {
    ruleOf: async (accountId) => {
      const sql = `SELECT ${RULE}, changed_by AS "changedBy", problem FROM auto_top_up WHERE account_id = $1`;
      return (await pool.query<AutoTopUp>(sql, [accountId])).rows[0];
    },
    spentInMonth: (accountId, now) => spentIn(pool, accountId, now),
    save: async (accountId, { isOn, threshold, amount, monthlyLimit }, changedBy, now) => {
      await pool.query(SAVE, [accountId, isOn, threshold, amount, monthlyLimit, changedBy, now]);
    },
    switchOff: async (accountId) => {
      await pool.query("UPDATE auto_top_up SET is_on = false WHERE account_id = $1", [accountId]);
    },
    claimDue: async (now, nextDue) =>
      (await pool.query<{ accountId: string }>(CLAIM, [now, nextDue])).rows[0]?.accountId,
    decide: (accountId, now, read) => inTransaction(pool, (client) => decideIn(client, accountId, now, read)),
    report: (sendsMail, now) => inTransaction(pool, (client) => reportIn(client, sendsMail, now)),
  };
}

async function decideIn(
  client: PoolClient,
  accountId: string,
  now: Date,
  read: () => Promise<AccountCredit>,
): Promise<TopUpDecision> {
  const rule = (await client.query<LockedRule>(LOCK, [accountId])).rows[0];
  if (rule === undefined || !rule.isOn || rule.paymentMethodId === null) return { outcome: "off" };
  const open = (await client.query<{ id: string }>(OPEN, [accountId])).rows[0];
  if (open !== undefined) return { outcome: "open", paymentId: open.id };
  const { balance, isSuspended } = await read();
  if (isSuspended || balance >= rule.threshold) return { outcome: "enough" };
  const { amount, monthlyLimit, changedBy, customerId, paymentMethodId } = rule;
  if ((await spentIn(client, accountId, now)) + amount > monthlyLimit) {
    const month = now.toISOString().slice(0, 7);
    if (rule.limitMonth !== month) {
      const amounts = { monthly_limit: formatCredits(monthlyLimit), balance: formatCredits(balance) };
      const report: Report = { kind: "top_up_limit", ...amounts, threshold: formatCredits(rule.threshold) };
      await client.query(REPORT_LIMIT, [accountId, month, JSON.stringify(report)]);
    }
    return { outcome: "limit" };
  }
  const paymentId = v7();
  const values = [paymentId, accountId, amount, changedBy, customerId, paymentMethodId, now];
  await client.query(BEGIN, [...values, `automatic ${paymentId}`]);
  await client.query(ADD_OPEN, [accountId, paymentId]);
  return { outcome: "begun", paymentId, credits: amount };
}

async function spentIn(
  client: Pick<Pool | PoolClient, "query">,
  accountId: string,
  now: Date,
): Promise<Credits> {
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const ends = [new Date(Date.UTC(year, month, 1)), new Date(Date.UTC(year, month + 1, 1))];
  const { rows } = await client.query<{ credits: Credits }>(SPENT, [accountId, ...ends]);
  return rows[0]?.credits ?? 0n;
}

async function reportIn(client: PoolClient, sendsMail: boolean, now: Date): Promise<TopUpKind | undefined> {
  const row = (await client.query<{ accountId: string; report: Report }>(CLAIM_REPORT)).rows[0];
  if (row === undefined) return undefined;
  const { kind, ...facts } = row.report;
  await addAlertIn(client, row.accountId, { kind, facts }, { sendsMail, now });
  await client.query("UPDATE auto_top_up SET report = NULL WHERE account_id = $1", [row.accountId]);
  return kind;
}
