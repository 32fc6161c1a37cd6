// C12: a server that may lose confirmed commits is told of at the start, by the setting that makes it so.
import { connectPostgres, createLogger } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { unsafeSettings } from "./durability-store.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase("empty");
});
afterAll(() => database.drop());

async function foundWith(synchronousCommit: string): Promise<string[]> {
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  const name = pg.escapeIdentifier(new URL(database.url).pathname.slice(1));
  await admin.query(`ALTER DATABASE ${name} SET synchronous_commit = ${synchronousCommit}`);
  await admin.end();
  const log = createLogger("silent", "test");
  const pool = await connectPostgres({ url: database.url, poolSize: 1, schema: "billing", log });
  try {
    return await unsafeSettings(pool);
  } finally {
    await pool.end();
  }
}

test("C12: commits that are confirmed before they are on disk are found out, and durable ones are not", async () => {
  expect(await foundWith("off")).toContain("synchronous_commit");
  for (const durable of ["local", "on", "remote_apply"]) {
    expect(await foundWith(durable)).not.toContain("synchronous_commit");
  }
});

test("C12: the settings of the server itself count, too", async () => {
  // The server of the tests is quick and forgetful on purpose.
  expect(await foundWith("on")).toEqual(["fsync", "full_page_writes"]);
});
