// Every SQL statement of the keys module. Rows in, domain objects out; no rule is decided here.
import { ServiceError } from "@gr/proto";
import { isConnectionError, type Pool } from "@gr/runtime";
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
  hasAccount(accountId: string): Promise<boolean>;
  addKey(key: ApiKey, digest: Buffer): Promise<void>;
  findByDigest(digest: Buffer): Promise<ApiKey | undefined>;
  findById(keyId: string): Promise<ApiKey | undefined>;
  /** Keys of an account that are not deleted, newest first. */
  list(accountId: string, kind: KeyKind | undefined): Promise<ApiKey[]>;
  /** False when the key was deleted already. */
  markDeleted(keyId: string, at: number): Promise<boolean>;
  /** Rejects when Postgres does not answer. */
  ping(): Promise<void>;
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
    hasAccount: async (accountId) => {
      const { rowCount } = await reading(pool.query("SELECT 1 FROM account WHERE id = $1", [accountId]));
      return rowCount === 1;
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
    markDeleted: async (keyId, at) => {
      const { rowCount } = await pool.query(
        "UPDATE api_key SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL",
        [keyId, new Date(at)],
      );
      return rowCount === 1;
    },
    ping: async () => {
      await pool.query("SELECT 1");
    },
  };
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
