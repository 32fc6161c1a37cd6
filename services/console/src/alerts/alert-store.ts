// Alerts on their tables: settings, crossings, and alerts with their deliveries. A row assigns each check and each
// delivery to one process.
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";
import type { AlertDecision, AlertRules, Crossing, NewAlert } from "./alert-rules.ts";

export interface AlertSettings extends AlertRules {
  readonly byMail: boolean;
  /** Null = no webhook. */
  readonly webhookUrl: string | null;
}

export type MailState = "none" | "pending" | "sent" | "limited" | "failed";
export type WebhookState = "none" | "pending" | "sent" | "refused" | "failed";

export interface Alert extends NewAlert {
  readonly ordinal: bigint;
  readonly id: string;
  readonly at: Date;
  readonly mail: MailState;
  readonly webhook: WebhookState;
}

/** An account that this process checks now. */
export interface ClaimedAccount {
  readonly accountId: string;
  readonly claim: bigint;
  readonly settings: AlertSettings;
  readonly crossings: readonly Crossing[];
}

export interface DueMail {
  readonly accountId: string;
  readonly accountName: string;
  readonly alerts: readonly (Pick<Alert, "id" | "kind" | "facts"> & { readonly tries: number })[];
}

export interface DueWebhook extends Pick<Alert, "id" | "kind" | "facts" | "at"> {
  readonly accountId: string;
  readonly url: string;
  readonly tries: number;
}

export interface AlertStore {
  settingsOf(accountId: string): Promise<AlertSettings | undefined>;
  /** The account is checked at once. */
  saveSettings(accountId: string, settings: AlertSettings, now: Date): Promise<void>;
  /** Claims the account that is due for the longest time. @returns undefined if none is due */
  claimDue(now: Date, nextDue: Date): Promise<ClaimedAccount | undefined>;
  /** Moves the next check of an account, unless another process has claimed the account since. */
  postpone(account: Pick<ClaimedAccount, "accountId" | "claim">, dueAt: Date): Promise<void>;
  /**
   * Stores the result of a check, unless another process has claimed the account since.
   * @returns the number of alerts beyond the limit of a day, which were dropped; undefined if nothing was stored
   */
  apply(account: ClaimedAccount, decision: AlertDecision, now: Date): Promise<number | undefined>;
  /** Adds an alert apart from all thresholds. */
  add(accountId: string, alert: NewAlert, settings: AlertSettings, now: Date): Promise<void>;
  /** Alerts of thresholds that are still crossed, and of automatic top-ups that are switched off; newest first. */
  open(accountId: string, now: Date): Promise<Pick<Alert, "id" | "kind" | "facts" | "at">[]>;
  /** Newest first. */
  list(accountId: string, limit: number, after: bigint | undefined): Promise<Alert[]>;
  /** Claims the due mails of one account. */
  claimMails(now: Date, retryAt: Date): Promise<DueMail | undefined>;
  /** @param dueAt of the next try, if the mail stays pending */
  endMails(ids: readonly string[], state: MailState, dueAt?: Date): Promise<void>;
  claimWebhook(now: Date, retryAt: Date): Promise<DueWebhook | undefined>;
  /** @param dueAt of the next try, if the webhook stays pending */
  endWebhook(id: string, state: WebhookState, dueAt?: Date): Promise<void>;
  /** Addresses of the owners and admins, the oldest members first. */
  recipients(accountId: string): Promise<string[]>;
  /** Deletes alerts from before this time. */
  sweep(before: Date): Promise<void>;
}

/** Of budgets in 24 hours. The other kinds cannot occur often. */
export const MOST_ALERTS_A_DAY = 200;
const DAY = "interval '24 hours'";
export const MOST_RECIPIENTS = 10;
const MOST_IN_A_MAIL = 50;
const MOST_OPEN = 20;
const MOST_SWEPT = 1_000;

interface SettingRow {
  low_balance_credits: bigint | null;
  budget_percents: number[];
  failure_percent: number | null;
  by_mail: boolean;
  webhook_url: string | null;
}

const SETTINGS = "low_balance_credits, budget_percents, failure_percent, by_mail, webhook_url";

const SAVE = `INSERT INTO alert_setting (account_id, ${SETTINGS}, due_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (account_id) DO UPDATE SET low_balance_credits = excluded.low_balance_credits,
    budget_percents = excluded.budget_percents, failure_percent = excluded.failure_percent,
    by_mail = excluded.by_mail, webhook_url = excluded.webhook_url, due_at = excluded.due_at,
    claim = alert_setting.claim + 1`;

/** A rule that was switched off and on again reports its crossing anew. */
const FORGET = `DELETE FROM alert_crossing WHERE account_id = $1 AND (kind = 'low_balance' AND $2
  OR kind = 'budget' AND NOT percent = ANY ($3::integer[]) OR kind = 'failure_rate' AND $4)`;

const HAS_RULES =
  "(low_balance_credits IS NOT NULL OR budget_percents <> '{}' OR failure_percent IS NOT NULL)";

const CLAIM = `UPDATE alert_setting SET due_at = $2, claim = claim + 1 WHERE account_id = (
    SELECT account_id FROM alert_setting WHERE due_at <= $1 AND ${HAS_RULES}
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING account_id, claim, ${SETTINGS}`;

const CROSSINGS = `SELECT kind, subject, percent, period, crossed_at AS "crossedAt" FROM alert_crossing
  WHERE account_id = $1`;

const ADD_CROSSINGS = `INSERT INTO alert_crossing (account_id, kind, subject, percent, period, crossed_at)
  SELECT $1, kind, subject, percent, period, $3
  FROM jsonb_to_recordset($2) AS c(kind text, subject text, percent integer, period text)
  ON CONFLICT (account_id, kind, subject, percent) DO UPDATE
    SET period = excluded.period, crossed_at = excluded.crossed_at`;

const END_CROSSINGS = `DELETE FROM alert_crossing a
  USING jsonb_to_recordset($2) AS c(kind text, subject text, percent integer)
  WHERE a.account_id = $1 AND a.kind = c.kind AND a.subject = c.subject AND a.percent = c.percent`;

const ADD_ALERTS = `INSERT INTO alert (id, account_id, kind, at, facts, mail, mail_due_at, webhook, webhook_url, webhook_due_at)
  SELECT gen_random_uuid(), $1, kind, $3, facts, CASE WHEN $4 THEN 'pending' ELSE 'none' END, $3,
    CASE WHEN $5::text IS NULL THEN 'none' ELSE 'pending' END, $5, $3
  FROM jsonb_to_recordset($2) AS a(kind text, facts jsonb)`;

/** Adds an alert within the transaction of its cause. It is mailed even if the settings have no mails. */
export async function addAlertIn(
  client: PoolClient,
  accountId: string,
  alert: NewAlert,
  { sendsMail, now }: { readonly sendsMail: boolean; readonly now: Date },
): Promise<void> {
  const { rows } = await client.query<{ webhook_url: string | null }>(
    "SELECT webhook_url FROM alert_setting WHERE account_id = $1",
    [accountId],
  );
  const url = rows[0]?.webhook_url ?? null;
  await client.query(ADD_ALERTS, [accountId, JSON.stringify([alert]), now, sendsMail, url]);
}

const CLAIM_MAILS = `WITH first AS (
    SELECT account_id FROM alert WHERE mail = 'pending' AND mail_due_at <= $1
      ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED),
  due AS (
    SELECT id FROM alert WHERE account_id = (SELECT account_id FROM first) AND mail = 'pending' AND mail_due_at <= $1
      ORDER BY ordinal LIMIT ${MOST_IN_A_MAIL} FOR UPDATE SKIP LOCKED)
  UPDATE alert a SET mail_due_at = $2, mail_tries = mail_tries + 1
    FROM due, account o WHERE a.id = due.id AND o.id = a.account_id
    RETURNING a.ordinal, a.id, a.kind, a.facts, a.mail_tries AS tries, a.account_id AS "accountId",
      o.name AS "accountName"`;

const CLAIM_WEBHOOK = `UPDATE alert SET webhook_due_at = $2, webhook_tries = webhook_tries + 1 WHERE id = (
    SELECT id FROM alert WHERE webhook = 'pending' AND webhook_due_at <= $1
      ORDER BY webhook_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING id, kind, facts, at, webhook_tries AS tries, account_id AS "accountId", webhook_url AS url`;

/** A crossing and its alert have one time. Of several percents of a budget the highest counts. */
const OPEN = `SELECT id, kind, facts, at FROM (
    SELECT DISTINCT ON (c.kind, c.subject) a.id, a.kind, a.facts, a.at
      FROM alert_crossing c JOIN alert a ON a.at = c.crossed_at AND a.account_id = c.account_id AND a.kind = c.kind
        AND (c.subject = '' OR coalesce(a.facts->>'key_id', a.facts->>'budget_id') = c.subject)
     WHERE c.account_id = $1 ORDER BY c.kind, c.subject, c.percent DESC) o
  UNION ALL
  SELECT a.id, a.kind, a.facts, a.at FROM auto_top_up t CROSS JOIN LATERAL (
      SELECT id, kind, facts, at FROM alert WHERE account_id = t.account_id
        AND kind = CASE WHEN t.problem IS NULL THEN 'top_up_limit' ELSE 'top_up_failed' END
        ORDER BY ordinal DESC LIMIT 1) a
   WHERE t.account_id = $1 AND (t.problem IS NOT NULL OR t.is_on AND t.limit_month = $2)
  ORDER BY at DESC LIMIT ${MOST_OPEN}`;

export function createAlertStore(pool: Pool): AlertStore {
  const rowsOf = async <Row extends object>(sql: string, values: unknown[]): Promise<Row[]> =>
    (await pool.query<Row>(sql, values)).rows;
  return {
    settingsOf: async (accountId) => {
      const sql = `SELECT ${SETTINGS} FROM alert_setting WHERE account_id = $1`;
      return (await rowsOf<SettingRow>(sql, [accountId])).map(settingsOf)[0];
    },
    saveSettings: (accountId, settings, now) =>
      inTransaction(pool, async (client) => {
        const { lowBalance, budgetPercents, failurePercent, byMail, webhookUrl } = settings;
        const values = [accountId, lowBalance, budgetPercents, failurePercent, byMail, webhookUrl, now];
        await client.query(SAVE, values);
        await client.query(FORGET, [accountId, lowBalance === null, budgetPercents, failurePercent === null]);
      }),
    claimDue: async (now, nextDue) => {
      type Row = SettingRow & { account_id: string; claim: bigint };
      const [row] = await rowsOf<Row>(CLAIM, [now, nextDue]);
      if (row === undefined) return undefined;
      const known = await rowsOf<Omit<Crossing, "crossedAt"> & { crossedAt: Date }>(CROSSINGS, [
        row.account_id,
      ]);
      const crossings = known.map((one) => ({ ...one, crossedAt: one.crossedAt.getTime() }));
      return { accountId: row.account_id, claim: row.claim, settings: settingsOf(row), crossings };
    },
    postpone: async ({ accountId, claim }, dueAt) => {
      const sql = "UPDATE alert_setting SET due_at = $3 WHERE account_id = $1 AND claim = $2";
      await pool.query(sql, [accountId, claim, dueAt]);
    },
    apply: ({ accountId, claim, settings }, { alerts, crossed, ended }, now) =>
      inTransaction(pool, async (client) => {
        const lock = "SELECT FROM alert_setting WHERE account_id = $1 AND claim = $2 FOR UPDATE";
        if ((await client.query(lock, [accountId, claim])).rowCount !== 1) return undefined;
        if (ended.length > 0) await client.query(END_CROSSINGS, [accountId, JSON.stringify(ended)]);
        if (crossed.length > 0) await client.query(ADD_CROSSINGS, [accountId, JSON.stringify(crossed), now]);
        if (alerts.length === 0) return 0;
        const { rows } = await client.query<{ count: bigint }>(
          `SELECT count(*) FROM alert WHERE account_id = $1 AND kind = 'budget' AND at > $2::timestamptz - ${DAY}`,
          [accountId, now],
        );
        let room = MOST_ALERTS_A_DAY - Number(rows[0]?.count ?? 0);
        const stored = alerts.filter(({ kind }) => kind !== "budget" || room-- > 0);
        const { byMail, webhookUrl } = settings;
        await client.query(ADD_ALERTS, [accountId, JSON.stringify(stored), now, byMail, webhookUrl]);
        return alerts.length - stored.length;
      }),
    add: async (accountId, alert, { byMail, webhookUrl }, now) => {
      await pool.query(ADD_ALERTS, [accountId, JSON.stringify([alert]), now, byMail, webhookUrl]);
    },
    open: (accountId, now) => rowsOf(OPEN, [accountId, now.toISOString().slice(0, 7)]),
    list: (accountId, limit, after) =>
      rowsOf<Alert>(
        `SELECT ordinal, id, kind, at, facts, mail, webhook FROM alert
          WHERE account_id = $1 AND ($2::bigint IS NULL OR ordinal < $2) ORDER BY ordinal DESC LIMIT $3`,
        [accountId, after ?? null, limit],
      ),
    claimMails: async (now, retryAt) => {
      type Row = DueMail["alerts"][number] & { ordinal: bigint; accountId: string; accountName: string };
      const rows = await rowsOf<Row>(CLAIM_MAILS, [now, retryAt]);
      const [first] = rows;
      if (first === undefined) return undefined;
      const alerts = rows.toSorted((a, b) => Number(a.ordinal - b.ordinal));
      return { accountId: first.accountId, accountName: first.accountName, alerts };
    },
    endMails: async (ids, state, dueAt) => {
      const sql =
        "UPDATE alert SET mail = $2, mail_due_at = coalesce($3, mail_due_at) WHERE id = ANY ($1::uuid[])";
      await pool.query(sql, [ids, state, dueAt ?? null]);
    },
    claimWebhook: async (now, retryAt) => (await rowsOf<DueWebhook>(CLAIM_WEBHOOK, [now, retryAt]))[0],
    endWebhook: async (id, state, dueAt) => {
      const sql =
        "UPDATE alert SET webhook = $2, webhook_due_at = coalesce($3, webhook_due_at) WHERE id = $1";
      await pool.query(sql, [id, state, dueAt ?? null]);
    },
    recipients: async (accountId) => {
      const sql = `SELECT p.email FROM membership m JOIN person p ON p.id = m.person_id
        WHERE m.account_id = $1 AND m.role IN ('owner', 'admin') ORDER BY m.joined_at, p.id LIMIT ${MOST_RECIPIENTS}`;
      return (await rowsOf<{ email: string }>(sql, [accountId])).map(({ email }) => email);
    },
    sweep: async (before) => {
      const sql = `DELETE FROM alert WHERE id IN
        (SELECT id FROM alert WHERE at < $1 AND mail <> 'pending' AND webhook <> 'pending' LIMIT ${MOST_SWEPT})`;
      await pool.query(sql, [before]);
    },
  };
}

function settingsOf(row: SettingRow): AlertSettings {
  return {
    lowBalance: row.low_balance_credits,
    budgetPercents: row.budget_percents,
    failurePercent: row.failure_percent,
    byMail: row.by_mail,
    webhookUrl: row.webhook_url,
  };
}
