// Guarantee of the golden schema: it is the sum of the migrations.
import { fileURLToPath } from "node:url";
import { compareSchema } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { startKeys } from "./test/start-keys.ts";

test("schema.sql describes the tables as the migrations make them", async () => {
  const world = await startKeys();
  try {
    const file = fileURLToPath(new URL("../schema.sql", import.meta.url));
    const { actual, golden } = await compareSchema(world.databaseUrl, "keys", file);
    expect(actual).toBe(golden);
  } finally {
    await world.stop();
  }
});
