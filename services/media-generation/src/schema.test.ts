// The golden schema equals the result of all migrations.
import { fileURLToPath } from "node:url";
import { compareSchema } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { migratedDatabase } from "./test/migrated-database.ts";

test("schema.sql describes the tables as the migrations make them", async () => {
  const database = await migratedDatabase();
  try {
    const file = fileURLToPath(new URL("../schema.sql", import.meta.url));
    const { actual, golden } = await compareSchema(database.url, "media_generation", file);
    expect(actual).toBe(golden);
  } finally {
    await database.drop();
  }
});
