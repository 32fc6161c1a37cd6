// Key member store reads the creators of the keys of an account from the audit log.
import type { Pool } from "@gr/runtime";

export interface KeyMemberStore {
  /** Persons by the id of a key. A key that no person created, and a person without this address, are absent. */
  creatorsOf(accountId: string): Promise<ReadonlyMap<string, string>>;
  /** Names by the id of a person, also of former members; the address if the name is empty. */
  namesOf(personIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/**
 * A rotation keeps the id and the creator of a key. Older rotations created a second key and named it in the detail; its
 * creator is the person of the rotation.
 */
const CREATORS = `SELECT DISTINCT ON (key) coalesce(a.detail ->> 'new_key', a.subject) AS key, p.id::text AS person
  FROM audit a JOIN person p ON p.email = a.actor
 WHERE a.account_id = $1 AND (a.action = 'key.created' OR a.action = 'key.rotated' AND a.detail ? 'new_key')
 ORDER BY key, a.id DESC`;

const NAMES =
  "SELECT id::text AS id, coalesce(nullif(name, ''), email) AS name FROM person WHERE id = ANY ($1::uuid[])";

export function createKeyMemberStore(pool: Pool): KeyMemberStore {
  return {
    creatorsOf: async (accountId) => {
      const { rows } = await pool.query<{ key: string; person: string }>(CREATORS, [accountId]);
      return new Map(rows.map(({ key, person }) => [key, person]));
    },
    namesOf: async (personIds) => {
      const { rows } = await pool.query<{ id: string; name: string }>(NAMES, [personIds]);
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
  };
}
