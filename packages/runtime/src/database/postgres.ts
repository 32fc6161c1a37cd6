// Connections to one service's own schema. 64-bit integers arrive as bigint, in these pools only.
import pg from "pg";
import type { Logger } from "../process/logger.ts";
import { OperatorError } from "../process/operator-error.ts";

export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize: number;
  /** The service's schema; its tables are found without a prefix, and no other tables are. */
  readonly schema: string;
  readonly log: Logger;
  /** Longest time of a query before its connection is dropped; a value other than 35 s is for tests only. */
  readonly answerTimeoutMs?: number;
}

const INT8_OID = 20;
const UNIQUE_VIOLATION = "23505";
const READ_ONLY = "25006";
/** Classes of errors with a cause in the server itself: limits, locks, shutdown, rollback. */
const SERVER_TROUBLE = /^(40|53|54|55|57|58)/;
/**
 * The server's own limits. The last one releases the locks of a process after its machine fell silent in a transaction:
 * the connection alone would hold them for hours.
 */
const TIMEOUTS = "-c lock_timeout=10s -c statement_timeout=30s -c idle_in_transaction_session_timeout=30s";
/** Longer than the server's own limit for a statement: without an answer by then the server or its standby is lost. */
const ANSWER_TIMEOUT_MS = 35_000;

/** @throws OperatorError when the server does not answer or refuses. */
export async function connectPostgres(options: PostgresOptions): Promise<Pool> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    // Only keep-alive detects a silent connection without a peer.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    query_timeout: options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
    verify: refuseReadOnly,
    application_name: `generation-router ${options.schema}`,
    options: `-c search_path=${options.schema} -c timezone=UTC ${TIMEOUTS}`,
    types: {
      getTypeParser: ((oid: number, format?: "text" | "binary") =>
        oid === INT8_OID
          ? BigInt
          : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
    },
  });
  // Without listeners, a connection that the server closes would end the process. Its user learns it from the query.
  pool.on("connect", (client) => client.on("error", () => undefined));
  pool.on("error", (error) => {
    // A pool has ended before its connections have: a server that stops next may close them first, as wished.
    if (!pool.ending) options.log.warn({ err: error.message }, "an idle postgres connection was lost");
  });
  try {
    await createSchema(pool, options.schema);
  } catch (error) {
    await pool.end();
    throw new OperatorError(
      `PostgreSQL at ${hostOf(options.url)} is not usable: ${(error as Error).message}.`,
    );
  }
  return pool;
}

/**
 * Creates the schema if it is absent: the statement alone would need all servers of a distributed database. If two processes start together, IF NOT EXISTS may fail in one of them; by then the schema
 * exists.
 */
async function createSchema(pool: Pool, schema: string): Promise<void> {
  const { rowCount } = await pool.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  if (rowCount === 1) return;
  try {
    await pool.query(`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`);
  } catch (error) {
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
  }
}

/**
 * Refuses a read-only server. During a fail-over an address may lead to a standby for some time. A connection to it
 * would stay, and fail each write, long after the address leads to the primary.
 */
function refuseReadOnly(client: PoolClient, done: (error?: Error) => void): void {
  client.query<{ transaction_read_only: string }>("SHOW transaction_read_only").then(({ rows }) => {
    if (rows[0]?.transaction_read_only !== "on") return done();
    done(Object.assign(new Error("the server accepts no writes"), { code: READ_ONLY }));
  }, done);
}

/** Runs `work` in one transaction; any error rolls back, and a broken connection is discarded. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // On a silent connection, a rollback would get no answer either; it ends with the connection.
    if (isConnectionError(error)) broken = error as Error;
    else
      await client.query("ROLLBACK").catch((rollbackError: Error) => {
        broken = rollbackError;
      });
    throw error;
  } finally {
    client.release(broken);
  }
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** Returns true for errors after which another connection is needed: it broke, or leads to a server that only reads. */
export function isConnectionError(error: unknown): boolean {
  const code = sqlStateOf(error);
  if (code === undefined) {
    return /connection|timeout/i.test(String((error as { message?: unknown } | null)?.message ?? ""));
  }
  return code === READ_ONLY || code.startsWith("08") || code.startsWith("57P") || /^E[A-Z]+$/.test(code);
}

/**
 * Returns true if the server is lost or has trouble of its own, so that a retry may help; any other error is a defect.
 */
export function isServerTrouble(error: unknown): boolean {
  return isConnectionError(error) || SERVER_TROUBLE.test(sqlStateOf(error) ?? "");
}

/** PostgreSQL's code of an error, or the operating system's; undefined when it has neither. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}
