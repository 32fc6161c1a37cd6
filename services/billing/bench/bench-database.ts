// BenchDatabase is a durable PostgreSQL in a new folder, with pools for the schema of billing. `stop` deletes the folder.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@gr/embedded";
import { createLogger, openPool, type Pool } from "@gr/runtime";

export const SCHEMA = { name: "billing", migrations: join(import.meta.dirname, "../migrations") };
export const log = createLogger("silent", "bench");

export async function startBenchDatabase() {
  const dataDir = mkdtempSync(join(tmpdir(), "generation-router-bench-"));
  const { url, stop } = await startPostgres({ dataDir, durable: true, temporary: true });
  const newPool = (size: number): Promise<Pool> =>
    openPool({ DATABASE_URL: url, DATABASE_POOL_SIZE: size }, SCHEMA, log);
  return { url, newPool, stop };
}
