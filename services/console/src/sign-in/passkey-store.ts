// PasskeyStore is the SQL of passkeys. Each change names its person, so that no person changes the passkey of another.
import { inTransaction, type Pool } from "@gr/runtime";
import type { Person } from "../people/people.ts";

export interface Passkey {
  readonly id: string;
  readonly credentialId: string;
  readonly name: string;
  readonly transports: readonly string[];
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

export interface NewPasskey extends Pick<Passkey, "id" | "credentialId" | "name" | "transports"> {
  readonly publicKey: Uint8Array;
  readonly counter: number;
}

/** Data for the check of an answer. */
export interface KnownPasskey {
  readonly id: string;
  readonly publicKey: Buffer;
  readonly counter: number;
  readonly person: Person;
}

export interface PasskeyStore {
  /** Oldest first. */
  passkeysOf(personId: string): Promise<Passkey[]>;
  /** @returns undefined if the person has the maximum, or the passkey belongs to a person already */
  addPasskey(personId: string, passkey: NewPasskey, most: number): Promise<Passkey | undefined>;
  /** @returns the new state; undefined if the person has no such passkey */
  renamePasskey(personId: string, id: string, name: string): Promise<Passkey | undefined>;
  /** @returns its former name; undefined if the person has no such passkey */
  removePasskey(personId: string, id: string): Promise<string | undefined>;
  findPasskey(credentialId: string): Promise<KnownPasskey | undefined>;
  notePasskeyUse(id: string, counter: number): Promise<void>;
}

const PASSKEY = `id, credential_id AS "credentialId", name, transports, created_at AS "createdAt",
  last_used_at AS "lastUsedAt"`;

export function createPasskeyStore(pool: Pool): PasskeyStore {
  const rowsOf = async <Row extends object>(sql: string, values: unknown[]): Promise<Row[]> =>
    (await pool.query<Row>(sql, values)).rows;
  return {
    passkeysOf: (personId) =>
      rowsOf<Passkey>(`SELECT ${PASSKEY} FROM passkey WHERE person_id = $1 ORDER BY created_at, id`, [
        personId,
      ]),
    addPasskey: (personId, { id, credentialId, publicKey, counter, transports, name }, most) =>
      inTransaction(pool, async (client) => {
        // Two simultaneous additions are counted one after the other.
        await client.query("SELECT FROM person WHERE id = $1 FOR UPDATE", [personId]);
        const sql = `INSERT INTO passkey (id, person_id, credential_id, public_key, counter, transports, name)
          SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM passkey WHERE person_id = $2) < $8
          ON CONFLICT DO NOTHING RETURNING ${PASSKEY}`;
        const values = [id, personId, credentialId, publicKey, counter, transports, name, most];
        return (await client.query<Passkey>(sql, values)).rows[0];
      }),
    renamePasskey: async (personId, id, name) => {
      const sql = `UPDATE passkey SET name = $3 WHERE person_id = $1 AND id = $2 RETURNING ${PASSKEY}`;
      return (await rowsOf<Passkey>(sql, [personId, id, name]))[0];
    },
    removePasskey: async (personId, id) => {
      const sql = "DELETE FROM passkey WHERE person_id = $1 AND id = $2 RETURNING name";
      return (await rowsOf<{ name: string }>(sql, [personId, id]))[0]?.name;
    },
    findPasskey: async (credentialId) => {
      const sql = `SELECT k.id, k.public_key AS "publicKey", k.counter::float8 AS counter,
          jsonb_build_object('id', p.id, 'email', p.email, 'name', p.name) AS person
        FROM passkey k JOIN person p ON p.id = k.person_id WHERE k.credential_id = $1`;
      return (await rowsOf<KnownPasskey>(sql, [credentialId]))[0];
    },
    notePasskeyUse: async (id, counter) => {
      const sql = "UPDATE passkey SET counter = greatest(counter, $2), last_used_at = now() WHERE id = $1";
      await pool.query(sql, [id, counter]);
    },
  };
}
