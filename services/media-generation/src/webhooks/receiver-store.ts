// The SQL of default addresses and signing secrets. An account has one newest secret, and for 24 h after a rotation the
// one before it.
import { ServiceError } from "@gr/proto";
import { inTransaction, type Pool } from "@gr/runtime";
import { makeSecret } from "./signing-secret.ts";

/** Time in which the secret before a rotation still signs, in milliseconds. */
export const ROTATION_MS = 24 * 3_600_000;

/** Default addresses of one account. */
export const MOST_RECEIVERS = 10_000;

/** Default address of a key, or with an empty key of the account. */
export interface Receiver {
  readonly keyId: string;
  readonly url: string;
}

export interface SecretAge {
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Undefined for the newest secret. */
  readonly expiresAt: number | undefined;
}

export interface ReceiverStore {
  /** Returns the address of the key, else that of the account. */
  urlOf(accountId: string, keyId: string): Promise<string | undefined>;
  /** @param after key id of the last receiver of the page before; undefined: from the account's own */
  listReceivers(accountId: string, after: string | undefined, limit: number): Promise<Receiver[]>;
  /** @throws ServiceError too_many_receivers */
  setReceiver(accountId: string, keyId: string, url: string): Promise<void>;
  /** @returns false if there is no such receiver */
  removeReceiver(accountId: string, keyId: string): Promise<boolean>;
  /** Returns the secrets that sign now, newest first, and creates the first one. @param now Unix milliseconds */
  secretsOf(accountId: string, now: number): Promise<Buffer[]>;
  secretAges(accountId: string, now: number): Promise<SecretAge[]>;
  /** Creates a secret, and lets the one before sign until `ROTATION_MS` later. Older ones are deleted. */
  rotate(accountId: string, now: number): Promise<Buffer>;
}

export function createReceiverStore(pool: Pool): ReceiverStore {
  const liveSecrets = async (accountId: string, now: number) => {
    const { rows } = await pool.query<{ secret: Buffer; created_at: Date; expires_at: Date | null }>(
      `SELECT secret, created_at, expires_at FROM webhook_secret
       WHERE account_id = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY expires_at DESC NULLS FIRST`,
      [accountId, new Date(now)],
    );
    return rows;
  };
  const insertSecret = `INSERT INTO webhook_secret (account_id, secret, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (account_id) WHERE expires_at IS NULL DO NOTHING`;
  return {
    urlOf: async (accountId, keyId) => {
      const { rows } = await pool.query<{ url: string }>(
        `SELECT url FROM webhook_receiver WHERE account_id = $1 AND key_id IN ($2, '')
         ORDER BY key_id DESC LIMIT 1`,
        [accountId, keyId],
      );
      return rows[0]?.url;
    },
    listReceivers: async (accountId, after, limit) => {
      const { rows } = await pool.query<{ key_id: string; url: string }>(
        `SELECT key_id, url FROM webhook_receiver
         WHERE account_id = $1 AND ($2::text IS NULL OR key_id > $2) ORDER BY key_id LIMIT $3`,
        [accountId, after ?? null, limit],
      );
      return rows.map(({ key_id, url }) => ({ keyId: key_id, url }));
    },
    setReceiver: async (accountId, keyId, url) => {
      // Requests at the same time may exceed the bound by their number.
      const { rowCount } = await pool.query(
        `INSERT INTO webhook_receiver (account_id, key_id, url)
         SELECT $1::uuid, $2::text, $3::text
         WHERE EXISTS (SELECT FROM webhook_receiver WHERE account_id = $1 AND key_id = $2)
           OR (SELECT count(*) FROM webhook_receiver WHERE account_id = $1) < $4
         ON CONFLICT (account_id, key_id) DO UPDATE SET url = excluded.url, changed_at = now()`,
        [accountId, keyId, url, MOST_RECEIVERS],
      );
      if (rowCount === 1) return;
      const message = `The account has ${MOST_RECEIVERS} receivers of webhooks; delete some of them first.`;
      throw new ServiceError("too_many_receivers", message);
    },
    removeReceiver: async (accountId, keyId) => {
      const text = "DELETE FROM webhook_receiver WHERE account_id = $1 AND key_id = $2";
      return (await pool.query(text, [accountId, keyId])).rowCount === 1;
    },
    secretsOf: async (accountId, now) => {
      const live = await liveSecrets(accountId, now);
      if (live.length > 0) return live.map(({ secret }) => secret);
      await pool.query(insertSecret, [accountId, makeSecret(), new Date(now)]);
      return (await liveSecrets(accountId, now)).map(({ secret }) => secret);
    },
    secretAges: async (accountId, now) =>
      (await liveSecrets(accountId, now)).map(({ created_at, expires_at }) => ({
        createdAt: created_at.getTime(),
        expiresAt: expires_at?.getTime(),
      })),
    rotate: (accountId, now) =>
      inTransaction(pool, async (client) => {
        // Rotations of one account run one after the other.
        await client.query("SELECT pg_advisory_xact_lock(hashtextextended('webhook_secret ' || $1, 0))", [
          accountId,
        ]);
        const secret = makeSecret();
        const account = [accountId];
        await client.query(
          "DELETE FROM webhook_secret WHERE account_id = $1 AND expires_at IS NOT NULL",
          account,
        );
        await client.query(
          "UPDATE webhook_secret SET expires_at = $2 WHERE account_id = $1 AND expires_at IS NULL",
          [accountId, new Date(now + ROTATION_MS)],
        );
        await client.query(
          "INSERT INTO webhook_secret (account_id, secret, created_at) VALUES ($1, $2, $3)",
          [accountId, secret, new Date(now)],
        );
        return secret;
      }),
  };
}
