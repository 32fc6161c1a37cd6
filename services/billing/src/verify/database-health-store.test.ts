// C12: a server that may lose confirmed commits is told of at the start, by the setting that makes it so.
import { connectPostgres, createLogger } from "@gr/runtime";
import { startReplicatedPostgres, type TestDatabase, testDatabase, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { unsafeSettings } from "./database-health-store.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase("empty");
});
afterAll(() => database.drop());

/** @param url of a database that new sessions shall have this setting in */
async function foundWith(synchronousCommit: string, { url }: { url: string } = database): Promise<string[]> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  const name = pg.escapeIdentifier(new URL(url).pathname.slice(1));
  await admin.query(`ALTER DATABASE ${name} SET synchronous_commit = ${synchronousCommit}`);
  await admin.end();
  const log = createLogger("silent", "test");
  const pool = await connectPostgres({ url, poolSize: 1, schema: "billing", log });
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

test("C12: with a synchronous standby, what is confirmed before the standby has it on disk is found out", async () => {
  const replicated = await startReplicatedPostgres({ synchronous: true });
  try {
    for (const forgetful of ["local", "remote_write"]) {
      expect(await foundWith(forgetful, replicated.address)).toEqual(["synchronous_commit"]);
    }
    for (const safe of ["on", "remote_apply"]) {
      expect(await foundWith(safe, replicated.address)).toEqual([]);
    }
  } finally {
    await replicated.close();
  }
});

test("C12: a standby that nobody waits for is found out", async () => {
  const replicated = await startReplicatedPostgres({ synchronous: false });
  try {
    await replicated.caughtUp();
    expect(await foundWith("on", replicated.address)).toEqual(["synchronous_standby_names"]);
    await replicated.stopStandby();
    await until(async () => (await foundWith("on", replicated.address)).length === 0, { timeoutMs: 60_000 });
  } finally {
    await replicated.close();
  }
});
