// Statements on operators, and those with which they find accounts.
import type { Pool } from "@gr/runtime";

export interface FoundAccount {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly members: number;
}

export interface OperatorStore {
  isOperator(personId: string): Promise<boolean>;
  /** Does nothing when the person is one. */
  add(personId: string): Promise<void>;
  remove(personId: string): Promise<void>;
  /** Newest first. @param text of their id, name, or a member's address; undefined = all */
  findAccounts(text: string | undefined, after: string | undefined, limit: number): Promise<FoundAccount[]>;
  findAccount(id: string): Promise<FoundAccount | undefined>;
  /** Returns the time up to which the console has each account of the keys service, in Unix milliseconds. */
  accountsCompleteUntil(): Promise<number>;
  setAccountsCompleteUntil(unixMs: number): Promise<void>;
  /** The newest one by an operator of the console. */
  lastSuspension(accountId: string): Promise<Suspension | undefined>;
}

export interface Suspension {
  readonly at: Date;
  readonly reason: string | null;
}

const FOUND = `SELECT a.id, a.name, a.created_at AS "createdAt",
    (SELECT count(*)::integer FROM membership m WHERE m.account_id = a.id) AS members
  FROM account a`;

const FIND = `${FOUND}
 WHERE ($1::text IS NULL OR strpos(lower(a.name), $1) > 0 OR a.id::text = $1 OR a.id IN (
         SELECT m.account_id FROM membership m JOIN person p ON p.id = m.person_id WHERE strpos(p.email, $1) > 0))
   AND ($2::uuid IS NULL OR (a.created_at, a.id) < (SELECT x.created_at, x.id FROM account x WHERE x.id = $2))
 ORDER BY a.created_at DESC, a.id DESC LIMIT $3`;

export function createOperatorStore(pool: Pool): OperatorStore {
  return {
    isOperator: async (personId) =>
      (await pool.query("SELECT FROM operator WHERE person_id = $1", [personId])).rowCount === 1,
    add: async (personId) => {
      await pool.query("INSERT INTO operator (person_id) VALUES ($1) ON CONFLICT DO NOTHING", [personId]);
    },
    remove: async (personId) => {
      await pool.query("DELETE FROM operator WHERE person_id = $1", [personId]);
    },
    findAccounts: async (text, after, limit) => {
      const values = [text?.toLowerCase() ?? null, after ?? null, limit];
      return (await pool.query<FoundAccount>(FIND, values)).rows;
    },
    findAccount: async (id) => (await pool.query<FoundAccount>(`${FOUND} WHERE a.id = $1`, [id])).rows[0],
    accountsCompleteUntil: async () => {
      const { rows } = await pool.query<{ at: Date }>("SELECT complete_until AS at FROM account_copy");
      return rows[0]?.at.getTime() ?? 0;
    },
    setAccountsCompleteUntil: async (unixMs) => {
      const sql = "UPDATE account_copy SET complete_until = greatest(complete_until, $1)";
      await pool.query(sql, [new Date(unixMs)]);
    },
    lastSuspension: async (accountId) => {
      const sql = `SELECT at, detail ->> 'reason' AS reason FROM audit
        WHERE account_id = $1 AND action = 'operator.suspended' ORDER BY id DESC LIMIT 1`;
      return (await pool.query<Suspension>(sql, [accountId])).rows[0];
    },
  };
}
