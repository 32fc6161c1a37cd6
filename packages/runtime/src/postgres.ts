// Connections to one service's own schema. 64-bit integers arrive as bigint, in these pools only.
import pg from "pg";
import type { Logger } from "./logger.ts";
import { OperatorError } from "./operator-error.ts";

export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;

export interface PostgresOptions {
  readonly url: string;
  readonly poolSize: number;
  /** The service's schema; its tables are found without a prefix, and nobody else's are. */
  readonly schema: string;
  readonly log: Logger;
}

const INT8_OID = 20;
const UNIQUE_VIOLATION = "23505";

/** @throws OperatorError when the server does not answer or refuses. */
export async function connectPostgres(options: PostgresOptions): Promise<Pool> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    application_name: `generation-router ${options.schema}`,
    options: `-c search_path=${options.schema} -c timezone=UTC -c lock_timeout=10s -c statement_timeout=30s`,
    types: {
      getTypeParser: ((oid: number, format?: "text" | "binary") =>
        oid === INT8_OID
          ? BigInt
          : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
    },
  });
  // Without a listener, an idle connection that the server closes would end the process.
  pool.on("error", (error) =>
    options.log.warn({ err: error.message }, "an idle postgres connection was lost"),
  );
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

/** Of two processes that start together, IF NOT EXISTS lets one fail; by then the schema is there. */
async function createSchema(pool: Pool, schema: string): Promise<void> {
  try {
    await pool.query(`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`);
  } catch (error) {
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
  }
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

/** True for errors that say nothing about whether the statement took effect: the connection broke. */
export function isConnectionError(error: unknown): boolean {
  const code = (error as { code?: string } | null)?.code;
  if (code === undefined) return /connection|timeout/i.test((error as Error | null)?.message ?? "");
  return code.startsWith("08") || code.startsWith("57P") || /^E[A-Z]+$/.test(code);
}
