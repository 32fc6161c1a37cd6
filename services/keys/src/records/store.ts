// Every SQL statement of the keys module. Rows in, domain objects out; no rule is decided here.
import type { SpendPeriodName } from "@gr/clients";
import type { ResponseFormat } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { isServerTrouble, type Page, type Pool, type PoolClient, pageOf } from "@gr/runtime";
import type { ApiKey, FormerSecret, KeyKind } from "./key.ts";

export interface Account {
  readonly id: string;
  readonly name: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** The response_format of requests without one, for keys that have none; null = url. */
  readonly responseFormat: ResponseFormat | null;
}

/** Reads throw ServiceError service_unavailable when Postgres does not answer. */
export interface KeyStore {
  addAccount(account: Account): Promise<void>;
  findAccount(accountId: string): Promise<Account | undefined>;
  /** Lists accounts created at `createdFrom` (Unix milliseconds) or later, oldest first. */
  listAccounts(createdFrom: number, page: Page): Promise<AccountPage>;
  renameAccount(accountId: string, name: string): Promise<void>;
  /** Sets the default of an account; null = none. */
  setResponseFormat(accountId: string, format: ResponseFormat | null): Promise<void>;
  /** Stores a key. A normal key is deleted and unsettled until its mint ends. */
  addKey(key: ApiKey, digest: Buffer): Promise<void>;
  /** Ends the mint of a normal key. @returns false if the key was settled before: it stays deleted */
  endMint(key: ApiKey): Promise<boolean>;
  /** Deletes the row of a key that billing has refused. */
  dropMint(key: ApiKey): Promise<void>;
  /** Ids of keys that have been unsettled since before `before` (Unix milliseconds), longest first. */
  listUnsettled(before: number, most: number): Promise<string[]>;
  /** Finds a key under either digest, even while another process moves it. */
  findByDigest(digest: Buffer, other?: Buffer): Promise<FoundKey | undefined>;
  /** Moves a key to the other digest. A key that is no longer under the first one stays unchanged. */
  moveDigest(from: Buffer, to: Buffer): Promise<void>;
  /** Replaces the secret of a key. @returns the key as it is stored; undefined if it is deleted */
  replaceSecret(keyId: string, secret: NewSecret): Promise<ApiKey | undefined>;
  findById(keyId: string): Promise<ApiKey | undefined>;
  /** Keys of an account that are not deleted, newest first; `after` is the id of a key of the account, deleted or not. */
  list(accountId: string, kind: KeyKind | undefined, page: Page): Promise<KeyPage>;
  /** Keys of an account that are not deleted, counted up to `most`. */
  count(accountId: string, most: number): Promise<number>;
  /**
   * Changes an existing key under an exclusive lock. A failure changes nothing. The revision of the change is used for
   * no other change, even after a failure.
   * @returns the key as it is stored.
   */
  change(keyId: string, change: StoredChange): Promise<ApiKey>;
  /** Rejects when Postgres does not answer. */
  ping(): Promise<void>;
}

export interface NewSecret {
  readonly digest: Buffer;
  readonly hint: string;
  /** Unix milliseconds until which the replaced secret works; null = no other secret works. */
  readonly formerEndsAt: number | null;
  /** Unix milliseconds. A former secret that ends later stays, unless `formerEndsAt` is null. */
  readonly now: number;
}

export interface FoundKey {
  readonly key: ApiKey;
  /** Digest under which the key is stored. */
  readonly digest: Buffer;
  /** True: the digest is that of the secret before the last rotation. */
  readonly isFormer: boolean;
  /** Default of the key's account. */
  readonly accountFormat: ResponseFormat | null;
}

export interface AccountPage {
  readonly accounts: readonly Account[];
  readonly hasMore: boolean;
}

export interface KeyPage {
  readonly keys: readonly ApiKey[];
  readonly hasMore: boolean;
}

export interface StoredChange {
  /**
   * Returns the wanted key, whose revision is ignored; undefined = no change. A rejection changes nothing.
   * @param isSettled false: billing may have another state of the key, from an interrupted change
   */
  readonly next: (key: ApiKey, isSettled: boolean) => Promise<ApiKey | undefined>;
  /**
   * Receives the wanted key. Only its new revision is durable then. A receiver that has the same or a higher revision
   * returns its own; the change is then announced once more, above it.
   */
  readonly announce: (changed: ApiKey) => Promise<bigint | undefined>;
  /** Unix milliseconds. */
  readonly now: number;
}

interface AccountRow {
  id: string;
  name: string;
  created_at: Date;
  response_format: ResponseFormat | null;
}

interface KeyRow {
  id: string;
  account_id: string;
  name: string;
  kind: KeyKind;
  hint: string;
  active: boolean;
  cap_credits: bigint | null;
  period: SpendPeriodName | null;
  expires_at: Date | null;
  created_at: Date;
  deleted_at: Date | null;
  revision: bigint;
  response_format: ResponseFormat | null;
  allowed_models: string[] | null;
  allowed_providers: string[] | null;
  budget_id: string | null;
  saves_texts: boolean;
  former_hint: string | null;
  former_ends_at: Date | null;
  unsettled_since: Date | null;
}

const INSERTED = `id, account_id, name, kind, hint, active, cap_credits, period, expires_at, created_at, deleted_at,
  revision, response_format, allowed_models, allowed_providers, budget_id, saves_texts`;
/** Place of the spend limit among the inserted values. It has two columns until the next release, and this version reads the former one. */
const SPEND_LIMIT = "$7";
const COLUMNS = `${INSERTED}, former_hint, former_ends_at, unsettled_since`;

const FIND_BY_DIGEST = `SELECT ${COLUMNS}, CASE WHEN digest IN ($1, $2) THEN digest ELSE former_digest END AS digest,
  digest NOT IN ($1, $2) AS is_former,
  (SELECT a.response_format FROM account a WHERE a.id = k.account_id) AS account_format
  FROM api_key k WHERE digest IN ($1, $2) OR former_digest IN ($1, $2)`;

const MOVE_DIGEST = `UPDATE api_key SET digest = CASE WHEN digest = $1 THEN $2 ELSE digest END,
  former_digest = CASE WHEN former_digest = $1 THEN $2 ELSE former_digest END
  WHERE digest = $1 OR former_digest = $1`;

/**
 * One statement: of two rotations at the same time, the second finds the former secret of the first and keeps it. The
 * answer of the first may be lost, and then programs have only the former secret.
 */
const REPLACE_SECRET = `UPDATE api_key SET digest = $2, hint = $3,
  former_digest = CASE WHEN $4::timestamptz IS NULL THEN NULL WHEN former_ends_at > $5 THEN former_digest ELSE digest END,
  former_hint = CASE WHEN $4::timestamptz IS NULL THEN NULL WHEN former_ends_at > $5 THEN former_hint ELSE hint END,
  former_ends_at = CASE WHEN $4::timestamptz IS NULL THEN NULL WHEN former_ends_at > $5 THEN former_ends_at ELSE $4 END
  WHERE id = $1 AND deleted_at IS NULL RETURNING ${COLUMNS}`;

const LISTED = `account_id = $1 AND deleted_at IS NULL AND kind = coalesce($2, kind)
  AND ($3::uuid IS NULL OR ordinal < (SELECT k.ordinal FROM api_key k WHERE k.id = $3 AND k.account_id = $1))
  ORDER BY ordinal DESC LIMIT $4`;

const COUNT = `SELECT count(*) FROM
  (SELECT FROM api_key WHERE account_id = $1 AND deleted_at IS NULL ORDER BY ordinal DESC LIMIT $2) k`;

const LIST_ACCOUNTS = `SELECT id, name, created_at, response_format FROM account
  WHERE created_at >= $1 AND ($2::uuid IS NULL
    OR (created_at, id) > (SELECT a.created_at, a.id FROM account a WHERE a.id = $2))
  ORDER BY created_at, id LIMIT $3`;

const FIND_ACCOUNT = "SELECT id, name, created_at, response_format FROM account WHERE id = $1";

/**
 * Raises the revision above its current value and above $2, if the row is still settled or unsettled as $4. The end of a mint has no
 * lock, so it may settle a row that was just read.
 */
const RAISE_REVISION = `UPDATE api_key SET revision = greatest(revision, $2) + 1, unsettled_since = $3
  WHERE id = $1 AND (unsettled_since IS NULL) = $4 RETURNING revision`;

/** A sweep that settled the key has raised its revision. */
const OF_THE_MINT = "id = $1 AND revision = $2 AND unsettled_since IS NOT NULL";
const END_MINT = `UPDATE api_key SET deleted_at = NULL, unsettled_since = NULL WHERE ${OF_THE_MINT}`;
const DROP_MINT = `DELETE FROM api_key WHERE ${OF_THE_MINT}`;

const LIST_UNSETTLED = "SELECT id FROM api_key WHERE unsettled_since < $1 ORDER BY unsettled_since LIMIT $2";

const CHANGE_KEY = `UPDATE api_key SET name = $2, active = $3, cap_credits = $4, spend_limit_credits = $4, period = $5, expires_at = $6,
  deleted_at = $7, response_format = $8, allowed_models = $9, allowed_providers = $10, budget_id = $11, saves_texts = $12,
  unsettled_since = NULL WHERE id = $1`;

export function createKeyStore(pool: Pool): KeyStore {
  const keys = async (condition: string, values: unknown[]): Promise<ApiKey[]> => {
    const { rows } = await reading(
      pool.query<KeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE ${condition}`, values),
    );
    return rows.map(keyOf);
  };
  return {
    addAccount: async ({ id, name, createdAt, responseFormat }) => {
      const sql = "INSERT INTO account (id, name, created_at, response_format) VALUES ($1, $2, $3, $4)";
      await pool.query(sql, [id, name, new Date(createdAt), responseFormat]);
    },
    findAccount: async (accountId) => {
      const { rows } = await reading(pool.query<AccountRow>(FIND_ACCOUNT, [accountId]));
      return rows.map(accountOf)[0];
    },
    listAccounts: async (createdFrom, { limit, after }) => {
      const values = [new Date(createdFrom), after ?? null, limit + 1];
      const { rows } = await reading(pool.query<AccountRow>(LIST_ACCOUNTS, values));
      const { entries, hasMore } = pageOf(rows.map(accountOf), limit);
      return { accounts: entries, hasMore };
    },
    renameAccount: async (accountId, name) => {
      const sql = "UPDATE account SET name = $2 WHERE id = $1";
      await reading(pool.query(sql, [accountId, name]));
    },
    setResponseFormat: async (accountId, format) => {
      await pool.query("UPDATE account SET response_format = $2 WHERE id = $1", [accountId, format]);
    },
    addKey: async (key, digest) => {
      const since = key.kind === "normal" ? key.createdAt : null;
      const values = [...valuesOf({ ...key, deletedAt: since }), digest, dateOf(since)];
      const places = values.map((_, index) => `$${index + 1}`).join(", ");
      await pool.query(
        `INSERT INTO api_key (${INSERTED}, digest, unsettled_since, spend_limit_credits) VALUES (${places}, ${SPEND_LIMIT})`,
        values,
      );
    },
    endMint: async ({ id, revision }) => (await pool.query(END_MINT, [id, revision])).rowCount === 1,
    dropMint: async ({ id, revision }) => {
      await pool.query(DROP_MINT, [id, revision]);
    },
    listUnsettled: async (before, most) => {
      const { rows } = await pool.query<{ id: string }>(LIST_UNSETTLED, [new Date(before), most]);
      return rows.map(({ id }) => id);
    },
    findByDigest: async (digest, other = digest) => {
      const { rows } = await reading(pool.query<FoundRow>(FIND_BY_DIGEST, [digest, other]));
      return rows.map(foundOf)[0];
    },
    moveDigest: async (from, to) => {
      await reading(pool.query(MOVE_DIGEST, [from, to]));
    },
    replaceSecret: async (keyId, { digest, hint, formerEndsAt, now }) => {
      const values = [keyId, digest, hint, dateOf(formerEndsAt), new Date(now)];
      return (await pool.query<KeyRow>(REPLACE_SECRET, values)).rows.map(keyOf)[0];
    },
    findById: async (keyId) => (await keys("id = $1", [keyId]))[0],
    list: async (accountId, kind, { limit, after }) => {
      const found = await keys(LISTED, [accountId, kind ?? null, after ?? null, limit + 1]);
      const { entries, hasMore } = pageOf(found, limit);
      return { keys: entries, hasMore };
    },
    count: async (accountId, most) => {
      const { rows } = await reading(pool.query<{ count: bigint }>(COUNT, [accountId, most]));
      return Number(rows[0]?.count ?? 0);
    },
    change: (keyId, { next, announce, now }) =>
      withKeyLock(pool, keyId, async (client) => {
        const found = await client.query<KeyRow>(`SELECT ${COLUMNS} FROM api_key WHERE id = $1`, [keyId]);
        const row = only(found.rows);
        const isSettled = row.unsettled_since === null;
        const changed = await next(keyOf(row), isSettled);
        if (changed === undefined) return keyOf(row);
        const revision = await announceAbove(client, changed, isSettled, { announce, now });
        const { name, active, spendLimit, period, expiresAt, deletedAt, responseFormat } = changed;
        const times = [dateOf(expiresAt), dateOf(deletedAt)];
        const lists = [changed.allowedModels, changed.allowedProviders];
        const options = [responseFormat, ...lists, changed.budgetId, changed.savesTexts];
        const values = [name, active, spendLimit, period, ...times, ...options];
        await client.query(CHANGE_KEY, [keyId, ...values]);
        return { ...changed, revision };
      }),
    ping: async () => {
      await pool.query("SELECT 1");
    },
  };
}

/** @returns the revision of the announced change. */
async function announceAbove(
  client: PoolClient,
  changed: ApiKey,
  wasSettled: boolean,
  { announce, now }: Pick<StoredChange, "announce" | "now">,
): Promise<bigint> {
  let known: bigint | undefined = 0n;
  for (let calls = 0; calls < 2; calls += 1) {
    const values = [changed.id, known, new Date(now), wasSettled && calls === 0];
    const raised = await client.query<Pick<KeyRow, "revision">>(RAISE_REVISION, values);
    const { revision } = only(raised.rows);
    known = await announce({ ...changed, revision });
    if (known === undefined) return revision;
  }
  throw new Error("a key changed elsewhere while it was locked here");
}

/**
 * Runs `work` while no other process changes this key. The lock belongs to the session, not to the row, because the
 * commit of a raised revision would unlock the row. A process that loses its connection loses the lock and can store
 * nothing more; the next holder of the lock announces a higher revision.
 */
async function withKeyLock<T>(
  pool: Pool,
  keyId: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // Without a listener, a connection that breaks while no query runs would end the process.
  const breaks = (error: Error) => {
    broken = error;
  };
  client.on("error", breaks);
  try {
    await client.query("SELECT pg_advisory_lock(hashtextextended('key ' || $1, 0))", [keyId]);
    return await work(client);
  } finally {
    await client.query("SELECT pg_advisory_unlock(hashtextextended('key ' || $1, 0))", [keyId]).catch(breaks);
    client.off("error", breaks);
    client.release(broken);
  }
}

function only<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("the row of a key was settled or deleted after it was read");
  return row;
}

/** Converts a failed read: a read changes nothing, so it is a plain "try again" and not an internal error. */
async function reading<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (error) {
    if (!isServerTrouble(error)) throw error;
    const message = "API keys cannot be read right now; try again shortly.";
    throw new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause: error });
  }
}

function accountOf({ id, name, created_at, response_format }: AccountRow): Account {
  return { id, name, createdAt: created_at.getTime(), responseFormat: response_format };
}

type FoundRow = KeyRow & {
  readonly digest: Buffer;
  readonly is_former: boolean;
  readonly account_format: ResponseFormat | null;
};

function foundOf(row: FoundRow): FoundKey {
  const { digest, is_former: isFormer, account_format: accountFormat } = row;
  return { key: keyOf(row), digest, isFormer, accountFormat };
}

function keyOf(row: KeyRow): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    kind: row.kind,
    hint: row.hint,
    active: row.active,
    spendLimit: row.cap_credits,
    period: row.period,
    expiresAt: row.expires_at?.getTime() ?? null,
    createdAt: row.created_at.getTime(),
    deletedAt: row.deleted_at?.getTime() ?? null,
    revision: row.revision,
    responseFormat: row.response_format,
    allowedModels: row.allowed_models,
    allowedProviders: row.allowed_providers,
    budgetId: row.budget_id,
    savesTexts: row.saves_texts,
    former: formerOf(row),
  };
}

function formerOf({ former_hint: hint, former_ends_at: endsAt }: KeyRow): FormerSecret | null {
  return endsAt === null ? null : { hint: hint ?? "", endsAt: endsAt.getTime() };
}

/** In the order of INSERTED. */
function valuesOf(key: ApiKey): unknown[] {
  return [
    key.id,
    key.accountId,
    key.name,
    key.kind,
    key.hint,
    key.active,
    key.spendLimit,
    key.period,
    dateOf(key.expiresAt),
    dateOf(key.createdAt),
    dateOf(key.deletedAt),
    key.revision,
    key.responseFormat,
    key.allowedModels,
    key.allowedProviders,
    key.budgetId,
    key.savesTexts,
  ];
}

function dateOf(unixMs: number | null): Date | null {
  return unixMs === null ? null : new Date(unixMs);
}
