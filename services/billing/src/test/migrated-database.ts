// A database with billing's migrations applied, cloned from one template per run.
import { join } from "node:path";
import { connectPostgres, createLogger, migrate } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";

export function migratedDatabase(): Promise<TestDatabase> {
  return testDatabase("billing", async (url) => {
    const pool = await connectPostgres({
      url,
      poolSize: 2,
      schema: "billing",
      log: createLogger("silent", "test"),
    });
    await migrate(pool, join(import.meta.dirname, "../../migrations"));
    await pool.end();
  });
}
