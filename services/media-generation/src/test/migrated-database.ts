// A database with the tables of media generation: migrated once per jest run, cloned for each call.
import { fileURLToPath } from "node:url";
import { connectPostgres, createLogger, migrate } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";

const MIGRATIONS = fileURLToPath(new URL("../../migrations", import.meta.url));

export function migratedDatabase(): Promise<TestDatabase> {
  return testDatabase("media-generation", async (url) => {
    const log = createLogger("silent", "tests");
    const pool = await connectPostgres({ url, poolSize: 2, schema: "media_generation", log });
    await migrate(pool, { name: "media_generation", migrations: MIGRATIONS });
    await pool.end();
  });
}
