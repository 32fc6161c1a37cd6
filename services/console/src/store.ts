// Every SQL statement of the console beside better-auth's own: accounts, members, invitations, audit, attempts.
import type { Membership, Role, WaitingInvitation } from "@gr/console-api";
import { inTransaction, type Pool, type PoolClient } from "@gr/runtime";

export interface Member {
  readonly personId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly joinedAt: Date;
}

export interface Invitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface NewInvitation extends Omit<Invitation, "createdAt"> {
  readonly accountId: string;
  readonly tokenDigest: Buffer;
  /** True: only the mailbox of the address has the token. False: the inviter has it. */
  readonly isMailed: boolean;
}

export interface FoundInvitation extends Pick<Invitation, "email" | "role" | "invitedBy"> {
  readonly accountName: string;
  readonly isMailed: boolean;
}

export interface AuditRecord {
  readonly accountId: string;
  readonly actor: string | null;
  readonly action: string;
  readonly subject: string | null;
  readonly detail: Readonly<Record<string, string>>;
  readonly address: string | null;
}

export interface AuditEntry extends Omit<AuditRecord, "accountId"> {
  readonly id: bigint;
  readonly at: Date;
}

export interface ConsoleStore {
  ping(): Promise<void>;
  /** Adds an account; an existing account stays unchanged. */
  addAccount(accountId: string, name: string, createdAt?: Date): Promise<void>;
  accountName(accountId: string): Promise<string | undefined>;
  /** @returns its former name */
  renameAccount(accountId: string, name: string): Promise<string>;
  membershipsOf(personId: string): Promise<Membership[]>;
  roleOf(accountId: string, personId: string): Promise<Role | undefined>;
  members(accountId: string): Promise<Member[]>;
  /** A member keeps the higher role. */
  addMember(accountId: string, personId: string, role: Role): Promise<void>;
  /**
   * Changes a member under an exclusive lock of the account's members. `owners` counts the owners.
   * @param change receives the member, or undefined if missing; returns another role, "removed", or undefined for no
   * change.
   */
  changeMember(
    accountId: string,
    personId: string,
    change: (member: Member | undefined, owners: number) => Role | "removed",
  ): Promise<Member | undefined>;
  invitations(accountId: string): Promise<Invitation[]>;
  /** Live invitations to an address, oldest first, at most 20. */
  invitationsTo(email: string): Promise<WaitingInvitation[]>;
  isInvited(email: string): Promise<boolean>;
  /** Replaces an earlier invitation of the same address. */
  invite(invitation: NewInvitation): Promise<Invitation>;
  findInvitation(tokenDigest: Buffer): Promise<FoundInvitation | undefined>;
  /** @returns true if it existed */
  withdrawInvitation(accountId: string, id: string): Promise<boolean>;
  /**
   * Adds the person of this address as a member and deletes the invitation. @param by digest of its token, or its id
   * @returns undefined if there is none
   */
  acceptInvitation(
    by: Buffer | string,
    person: Pick<Member, "personId" | "email">,
  ): Promise<Membership | undefined>;
  /** Deletes an invitation to this address. @returns its account, or undefined if there is none */
  declineInvitation(id: string, email: string): Promise<string | undefined>;
  audit(record: AuditRecord): Promise<void>;
  /** Newest first. */
  listAudit(accountId: string, limit: number, after: bigint | undefined): Promise<AuditEntry[]>;
  /** Counts one attempt. @returns the number of attempts in the window, with this one, and the end of the window */
  countAttempt(subject: string, windowMs: number): Promise<{ count: number; endsAt: Date }>;
  forgetAttempts(subject: string): Promise<void>;
  /** Reduces the count by one attempt. */
  uncountAttempt(subject: string): Promise<void>;
  sweep(): Promise<void>;
}

const MEMBER = `SELECT m.person_id AS "personId", p.email, p.name, m.role, m.joined_at AS "joinedAt"
  FROM membership m JOIN person p ON p.id = m.person_id WHERE m.account_id = $1`;
const INVITATION = `id, email, role, invited_by AS "invitedBy", created_at AS "createdAt", expires_at AS "expiresAt"`;
const MEMBERSHIP = `SELECT a.id AS account_id, a.name AS account_name, m.role
  FROM membership m JOIN account a ON a.id = m.account_id`;
const RANK = "array_position(ARRAY['viewer', 'developer', 'admin', 'owner'], ";
const ADD_MEMBER = `INSERT INTO membership AS m (account_id, person_id, role) VALUES ($1, $2, $3)
  ON CONFLICT (account_id, person_id) DO UPDATE SET role = excluded.role
  WHERE ${RANK}excluded.role) > ${RANK}m.role)`;
const COUNT_ATTEMPT = `INSERT INTO attempt AS a (subject, count, window_ends_at)
  VALUES ($1, 1, now() + $2 * interval '1 millisecond')
  ON CONFLICT (subject) DO UPDATE SET
    count = CASE WHEN a.window_ends_at > now() THEN a.count + 1 ELSE 1 END,
    window_ends_at = CASE WHEN a.window_ends_at > now() THEN a.window_ends_at ELSE excluded.window_ends_at END
  RETURNING count, window_ends_at AS "endsAt"`;

export function createConsoleStore(pool: Pool): ConsoleStore {
  const rowsOf = async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await pool.query<Row>(sql, values)).rows;
  return {
    ping: async () => {
      await pool.query("SELECT");
    },
    addAccount: async (accountId, name, createdAt) => {
      const sql = `INSERT INTO account (id, name, created_at) VALUES ($1, $2, coalesce($3, now()))
        ON CONFLICT DO NOTHING`;
      await pool.query(sql, [accountId, name, createdAt ?? null]);
    },
    membershipsOf: (personId) =>
      rowsOf<Membership>(`${MEMBERSHIP} WHERE m.person_id = $1 ORDER BY a.created_at, a.id`, [personId]),
    accountName: async (accountId) =>
      (await rowsOf<{ name: string }>("SELECT name FROM account WHERE id = $1", [accountId]))[0]?.name,
    renameAccount: async (accountId, name) => {
      const [before] = await rowsOf<{ name: string }>(
        `UPDATE account a SET name = $2 FROM (SELECT id, name FROM account WHERE id = $1 FOR UPDATE) b
         WHERE a.id = b.id RETURNING b.name`,
        [accountId, name],
      );
      return before?.name ?? "";
    },
    roleOf: async (accountId, personId) => {
      const sql = "SELECT role FROM membership WHERE account_id = $1 AND person_id = $2";
      return (await rowsOf<{ role: Role }>(sql, [accountId, personId]))[0]?.role;
    },
    members: (accountId) => rowsOf<Member>(`${MEMBER} ORDER BY m.joined_at, m.person_id`, [accountId]),
    addMember: async (accountId, personId, role) => {
      await pool.query(ADD_MEMBER, [accountId, personId, role]);
    },
    changeMember: (accountId, personId, change) =>
      inTransaction(pool, (client) => changeMember(client, accountId, personId, change)),
    invitations: (accountId) =>
      rowsOf<Invitation>(
        `SELECT ${INVITATION} FROM invitation WHERE account_id = $1 AND expires_at > now() ORDER BY created_at, id`,
        [accountId],
      ),
    invitationsTo: (email) =>
      rowsOf<WaitingInvitation>(
        `SELECT i.id, a.name AS account_name, i.role, i.invited_by
         FROM invitation i JOIN account a ON a.id = i.account_id
         WHERE i.email = $1 AND i.expires_at > now() ORDER BY i.created_at, i.id LIMIT 20`,
        [email],
      ),
    isInvited: async (email) => {
      const sql = "SELECT FROM invitation WHERE email = $1 AND expires_at > now() LIMIT 1";
      return (await pool.query(sql, [email])).rowCount === 1;
    },
    invite: async ({ id, accountId, email, role, invitedBy, tokenDigest, expiresAt, isMailed }) => {
      const sql = `INSERT INTO invitation (id, account_id, email, role, invited_by, token_digest, expires_at, is_mailed)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (account_id, email) DO UPDATE SET id = excluded.id, role = excluded.role, created_at = now(),
          invited_by = excluded.invited_by, token_digest = excluded.token_digest, expires_at = excluded.expires_at,
          is_mailed = excluded.is_mailed
        RETURNING ${INVITATION}`;
      const values = [id, accountId, email, role, invitedBy, tokenDigest, expiresAt, isMailed];
      return onlyOf(await rowsOf<Invitation>(sql, values));
    },
    findInvitation: async (tokenDigest) => {
      const sql = `SELECT i.email, i.role, i.invited_by AS "invitedBy", i.is_mailed AS "isMailed", a.name AS "accountName"
        FROM invitation i JOIN account a ON a.id = i.account_id WHERE i.token_digest = $1 AND i.expires_at > now()`;
      return (await rowsOf<FoundInvitation>(sql, [tokenDigest]))[0];
    },
    withdrawInvitation: async (accountId, id) => {
      const sql = "DELETE FROM invitation WHERE account_id = $1 AND id = $2";
      return (await pool.query(sql, [accountId, id])).rowCount === 1;
    },
    acceptInvitation: (by, person) => inTransaction(pool, (client) => acceptInvitation(client, by, person)),
    declineInvitation: async (id, email) => {
      const sql =
        "DELETE FROM invitation WHERE id = $1 AND email = $2 AND expires_at > now() RETURNING account_id";
      return (await rowsOf<{ account_id: string }>(sql, [id, email]))[0]?.account_id;
    },
    audit: async ({ accountId, actor, action, subject, detail, address }) => {
      const sql =
        "INSERT INTO audit (account_id, actor, action, subject, detail, address) VALUES ($1, $2, $3, $4, $5, $6)";
      await pool.query(sql, [accountId, actor, action, subject, detail, address]);
    },
    listAudit: (accountId, limit, after) =>
      rowsOf<AuditEntry>(
        `SELECT id, at, actor, action, subject, detail, address FROM audit
          WHERE account_id = $1 AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
        [accountId, after ?? null, limit],
      ),
    countAttempt: async (subject, windowMs) =>
      onlyOf(await rowsOf<{ count: number; endsAt: Date }>(COUNT_ATTEMPT, [subject, windowMs])),
    forgetAttempts: async (subject) => {
      await pool.query("DELETE FROM attempt WHERE subject = $1", [subject]);
    },
    uncountAttempt: async (subject) => {
      await pool.query("UPDATE attempt SET count = count - 1 WHERE subject = $1 AND count > 0", [subject]);
    },
    sweep: async () => {
      await pool.query("DELETE FROM attempt WHERE window_ends_at < now()");
      await pool.query("DELETE FROM verification WHERE expires_at < now()");
      await pool.query("DELETE FROM session WHERE expires_at < now()");
      await pool.query("DELETE FROM invitation WHERE expires_at < now()");
    },
  };
}

async function changeMember(
  client: PoolClient,
  accountId: string,
  personId: string,
  change: (member: Member | undefined, owners: number) => Role | "removed",
): Promise<Member | undefined> {
  await client.query("SELECT FROM account WHERE id = $1 FOR UPDATE", [accountId]);
  const { rows } = await client.query<Member>(MEMBER, [accountId]);
  const member = rows.find((one) => one.personId === personId);
  const next = change(member, rows.filter(({ role }) => role === "owner").length);
  const key = [accountId, personId];
  if (next === "removed") {
    await client.query("DELETE FROM membership WHERE account_id = $1 AND person_id = $2", key);
    return member;
  }
  await client.query("UPDATE membership SET role = $3 WHERE account_id = $1 AND person_id = $2", [
    ...key,
    next,
  ]);
  return member && { ...member, role: next };
}

async function acceptInvitation(
  client: PoolClient,
  by: Buffer | string,
  { personId, email }: Pick<Member, "personId" | "email">,
): Promise<Membership | undefined> {
  const column = typeof by === "string" ? "id" : "token_digest";
  const { rows } = await client.query<{ account_id: string; role: Role }>(
    `DELETE FROM invitation WHERE ${column} = $1 AND email = $2 AND expires_at > now() RETURNING account_id, role`,
    [by, email],
  );
  const [found] = rows;
  if (found === undefined) return undefined;
  await client.query(ADD_MEMBER, [found.account_id, personId, found.role]);
  const joined = await client.query<Membership>(
    `${MEMBERSHIP} WHERE m.account_id = $1 AND m.person_id = $2`,
    [found.account_id, personId],
  );
  return onlyOf(joined.rows);
}

function onlyOf<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("a statement has answered no row");
  return row;
}
