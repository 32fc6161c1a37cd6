// A database with billing's migrations applied, cloned from one template per run.
import { join } from "node:path";
import { connectPostgres, createLogger, migrate } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";

export const billingSchema = {
  name: "billing",
  migrations: join(import.meta.dirname, "../../migrations"),
} as const;

export function migratedDatabase(): Promise<TestDatabase> {
  return testDatabase("billing", async (url) => {
    const pool = await connectPostgres({
      url,
      poolSize: 2,
      schema: billingSchema.name,
      log: createLogger("silent", "test"),
    });
    await migrate(pool, billingSchema);
    await pool.end();
  });
}
