// A service's tables, ready for use: its pool, with every migration applied. Nothing is left open on failure.
import type { z } from "zod";
import type { postgresConfig } from "./config.ts";
import type { Logger } from "./logger.ts";
import { migrate } from "./migrate.ts";
import { connectPostgres, type Pool } from "./postgres.ts";

export interface SchemaOptions {
  readonly schema: string;
  /** Absolute path of the folder with the numbered SQL files. */
  readonly migrations: string;
  readonly log: Logger;
}

/** @throws OperatorError when the server is not usable or a migration was edited after it had been applied. */
export async function openSchema(
  config: z.infer<typeof postgresConfig>,
  { schema, migrations, log }: SchemaOptions,
): Promise<Pool> {
  const pool = await connectPostgres({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    schema,
    log,
  });
  try {
    await migrate(pool, migrations);
    return pool;
  } catch (error) {
    await pool.end();
    throw error;
  }
}
