// SignInStore is the SQL of sign-ins besides better-auth's own: challenges, each claimed once, and identities at the
// issuer.
import type { Pool } from "@gr/runtime";
import type { Person } from "../people/people.ts";

export interface Identity {
  readonly id: string;
  readonly issuer: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
}

export interface IdentityName {
  readonly issuer: string;
  readonly subject: string;
}

/** Purpose of a challenge; it is valid for no other. */
export type ChallengePurpose = "oidc" | "passkey" | "new passkey";

export interface NewChallenge {
  readonly tokenDigest: Buffer;
  readonly purpose: ChallengePurpose;
  readonly secrets: Readonly<Record<string, string>>;
  readonly lastsMs: number;
}

export interface SignInStore {
  addChallenge(challenge: NewChallenge): Promise<void>;
  /** Claims a challenge exclusively. @returns undefined if it is absent, for another purpose, or too old */
  claimChallenge(
    tokenDigest: Buffer,
    purpose: ChallengePurpose,
  ): Promise<Readonly<Record<string, string>> | undefined>;
  /** Finds the person and records the use. */
  personOf(identity: IdentityName): Promise<Person | undefined>;
  /** @returns false if the person has another identity at this issuer, or the identity another person */
  addIdentity(id: string, personId: string, identity: IdentityName): Promise<boolean>;
  identitiesOf(personId: string): Promise<Identity[]>;
  /** @returns true if the person had it */
  removeIdentity(personId: string, id: string): Promise<boolean>;
  sweep(): Promise<void>;
}

export function createSignInStore(pool: Pool): SignInStore {
  const rowsOf = async <Row extends object>(sql: string, values: unknown[]): Promise<Row[]> =>
    (await pool.query<Row>(sql, values)).rows;
  return {
    addChallenge: async ({ tokenDigest, purpose, secrets, lastsMs }) => {
      const sql = `INSERT INTO challenge (token_digest, purpose, secrets, expires_at)
        VALUES ($1, $2, $3, now() + $4 * interval '1 millisecond')`;
      await pool.query(sql, [tokenDigest, purpose, secrets, lastsMs]);
    },
    claimChallenge: async (tokenDigest, purpose) => {
      const sql = `DELETE FROM challenge WHERE token_digest = $1 AND purpose = $2 AND expires_at > now()
        RETURNING secrets`;
      return (await rowsOf<{ secrets: Record<string, string> }>(sql, [tokenDigest, purpose]))[0]?.secrets;
    },
    personOf: async ({ issuer, subject }) => {
      const sql = `UPDATE identity i SET last_used_at = now() FROM person p
        WHERE i.issuer = $1 AND i.subject = $2 AND p.id = i.person_id RETURNING p.id, p.email, p.name`;
      return (await rowsOf<Person>(sql, [issuer, subject]))[0];
    },
    addIdentity: async (id, personId, { issuer, subject }) => {
      const sql = `INSERT INTO identity (id, person_id, issuer, subject) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING`;
      return (await pool.query(sql, [id, personId, issuer, subject])).rowCount === 1;
    },
    identitiesOf: (personId) =>
      rowsOf<Identity>(
        `SELECT id, issuer, created_at AS "createdAt", last_used_at AS "lastUsedAt" FROM identity
          WHERE person_id = $1 ORDER BY created_at, id`,
        [personId],
      ),
    removeIdentity: async (personId, id) => {
      const sql = "DELETE FROM identity WHERE person_id = $1 AND id = $2";
      return (await pool.query(sql, [personId, id])).rowCount === 1;
    },
    sweep: async () => {
      await pool.query("DELETE FROM challenge WHERE expires_at < now()");
    },
  };
}
