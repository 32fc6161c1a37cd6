// The golden schema is what the migrations add up to.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectPostgres, createLogger, migrate } from "@gr/runtime";
import { compareSchema, testDatabase } from "@gr/testing";
import { expect, test } from "@jest/globals";

test("schema.sql describes the tables as the migrations make them", async () => {
  const database = await testDatabase("console", async (url) => {
    const log = createLogger("silent", "test");
    const pool = await connectPostgres({ url, poolSize: 2, schema: "console", log });
    await migrate(pool, join(import.meta.dirname, "../migrations"));
    await pool.end();
  });
  try {
    const file = fileURLToPath(new URL("../schema.sql", import.meta.url));
    const { actual, golden } = await compareSchema(database.url, "console", file);
    expect(actual).toBe(golden);
  } finally {
    await database.drop();
  }
});
