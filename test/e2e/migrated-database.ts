// Migrated database owns the template for routers of tests: the tables of all services, so no router of a test applies migrations.
import { glob } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { connectPostgres, createLogger, migrate } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";
import { ROOT } from "../../scripts/tool.ts";

export function migratedDatabase(): Promise<TestDatabase> {
  return testDatabase("router", async (url) => {
    const log = createLogger("silent", "test");
    for await (const migrations of glob(join(ROOT, "services/*/migrations"))) {
      const schema = { name: basename(dirname(migrations)).replaceAll("-", "_"), migrations };
      const pool = await connectPostgres({ url, poolSize: 1, schema: schema.name, log });
      await migrate(pool, schema);
      await pool.end();
    }
  });
}
