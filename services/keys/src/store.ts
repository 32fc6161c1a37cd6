// Every SQL statement of the keys module. Rows in, domain objects out; no rule is decided here.
import { ServiceError } from "@gr/proto";
import { inTransaction, isConnectionError, type Pool, type PoolClient } from "@gr/runtime";
import type { ApiKey, KeyKind, Period } from "./key.ts";

export interface Account {
  readonly id: string;
  readonly name: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** Reads throw ServiceError service_unavailable when Postgres does not answer. */
export interface KeyStore {
  addAccount(account: Account): Promise<void>;
  findAccount(accountId: string): Promise<Account | undefined>;
  addKey(key: ApiKey, digest: Buffer): Promise<void>;
  findByDigest(digest: Buffer): Promise<ApiKey | undefined>;
  findById(keyId: string): Promise<ApiKey | undefined>;
  /** Keys of an account that are not deleted, newest first. */
  list(accountId: string, kind: KeyKind | undefined): Promise<ApiKey[]>;
  /**
   * Stores what `work` makes of a known key, while nobody else changes it. A rejection of `work` changes nothing.
   * @returns the key as it is stored.
   */
  change(keyId: string, work: (key: ApiKey) => Promise<ApiKey>): Promise<ApiKey>;
  /** Rejects when Postgres does not answer. */
  ping(): Promise<void>;
}

interface AccountRow {
  id: string;
  name: string;
  created_at: Date;
}

interface KeyRow {
  id: string;
  account_id: string;
  name: string;
  kind: KeyKind;
  hint: string;
  active: boolean;
  cap_credits: bigint | null;
  period: Period | null;
  expires_at: Date | null;
  created_at: Date;
  deleted_at: Date | null;
}

const COLUMNS =
  "id, account_id, name, kind, hint, active, cap_credits, period, expires_at, created_at, deleted_at";

const FIND_ACCOUNT = "SELECT id, name, created_at FROM account WHERE id = $1";

const CHANGE_KEY = `UPDATE api_key SET name = $2, active = $3, cap_credits = $4, period = $5, expires_at = $6,
  deleted_at = $7 WHERE id = $1`;

export function createKeyStore(pool: Pool): KeyStore {
  const keys = async (condition: string, values: unknown[]): Promise<ApiKey[]> => {
    const { rows } = await reading(
      pool.query<KeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE ${condition}`, values),
    );
    return rows.map(keyOf);
  };
  return {
    addAccount: async ({ id, name, createdAt }) => {
      await pool.query("INSERT INTO account (id, name, created_at) VALUES ($1, $2, $3)", [
        id,
        name,
        new Date(createdAt),
      ]);
    },
    findAccount: async (accountId) => {
      const { rows } = await reading(pool.query<AccountRow>(FIND_ACCOUNT, [accountId]));
      return rows.map(({ id, name, created_at }) => ({ id, name, createdAt: created_at.getTime() }))[0];
    },
    addKey: async (key, digest) => {
      await pool.query(
        `INSERT INTO api_key (${COLUMNS}, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
        [...valuesOf(key), digest],
      );
    },
    findByDigest: async (digest) => (await keys("digest = $1", [digest]))[0],
    findById: async (keyId) => (await keys("id = $1", [keyId]))[0],
    list: (accountId, kind) =>
      keys("account_id = $1 AND deleted_at IS NULL AND kind = coalesce($2, kind) ORDER BY ordinal DESC", [
        accountId,
        kind ?? null,
      ]),
    change: (keyId, work) =>
      inTransaction(pool, async (client) => {
        const key = await lockKey(client, keyId);
        const changed = await work(key);
        const { name, active, capCredits, period, expiresAt, deletedAt } = changed;
        const values = [name, active, capCredits, period, dateOf(expiresAt), dateOf(deletedAt)];
        await client.query(CHANGE_KEY, [keyId, ...values]);
        return changed;
      }),
    ping: async () => {
      await pool.query("SELECT 1");
    },
  };
}

async function lockKey(client: PoolClient, keyId: string): Promise<ApiKey> {
  const { rows } = await client.query<KeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE id = $1 FOR UPDATE`, [
    keyId,
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no row of the key ${keyId}`);
  return keyOf(row);
}

/** A read changes nothing, so a lost connection is a plain "try again" and not an internal error. */
async function reading<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    if (!isConnectionError(error)) throw error;
    const message = "API keys cannot be read right now; try again shortly.";
    throw new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause: error });
  }
}

function keyOf(row: KeyRow): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    kind: row.kind,
    hint: row.hint,
    active: row.active,
    capCredits: row.cap_credits,
    period: row.period,
    expiresAt: row.expires_at?.getTime() ?? null,
    createdAt: row.created_at.getTime(),
    deletedAt: row.deleted_at?.getTime() ?? null,
  };
}

/** In the order of COLUMNS. */
function valuesOf(key: ApiKey): unknown[] {
  return [
    key.id,
    key.accountId,
    key.name,
    key.kind,
    key.hint,
    key.active,
    key.capCredits,
    key.period,
    dateOf(key.expiresAt),
    dateOf(key.createdAt),
    dateOf(key.deletedAt),
  ];
}

function dateOf(unixMs: number | null): Date | null {
  return unixMs === null ? null : new Date(unixMs);
}
