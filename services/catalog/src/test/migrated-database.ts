// A database with the tables of the catalogue: migrated once per jest run, cloned for each call.
import { join } from "node:path";
import { connectPostgres, createLogger, migrate, type Pool } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";

const MIGRATIONS = join(import.meta.dirname, "../../migrations");

export function migratedDatabase(): Promise<TestDatabase> {
  return testDatabase("catalog", async (url) => {
    const pool = await connect(url);
    await migrate(pool, { name: "catalog", migrations: MIGRATIONS });
    await pool.end();
  });
}

export function connect(url: string): Promise<Pool> {
  return connectPostgres({ url, poolSize: 8, schema: "catalog", log: createLogger("silent", "test") });
}
