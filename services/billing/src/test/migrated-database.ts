// A database with billing's migrations applied, cloned from one template per run. In `npm run test:distributed` Citus has distributed it.
import { join } from "node:path";
import { connectPostgres, createLogger, migrate } from "@gr/runtime";
import { isDistributedRun, type TestDatabase, testDatabase } from "@gr/testing";
import { distributeLedger } from "../shards/distribute-store.ts";

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
    if (isDistributedRun()) await distributeLedger(pool);
    await pool.end();
  });
}
