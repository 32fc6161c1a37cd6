// Guarantee of the golden schema: it is the sum of the migrations.
import { fileURLToPath } from "node:url";
import { compareSchema } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { startConsoleDatabase } from "./test/console-database.ts";

test("schema.sql describes the tables as the migrations make them", async () => {
  const database = await startConsoleDatabase();
  try {
    const file = fileURLToPath(new URL("../schema.sql", import.meta.url));
    const { actual, golden } = await compareSchema(database.url, "console", file);
    expect(actual).toBe(golden);
  } finally {
    await database.stop();
  }
});
