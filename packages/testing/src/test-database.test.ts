// The guarantees of test databases.
import { randomUUID } from "node:crypto";
import { expect, test } from "@jest/globals";
import pg from "pg";
import { testDatabase } from "./test-database.ts";

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test("callers of one name share one preparation and nothing else", async () => {
  const name = `shared ${randomUUID()}`;
  let preparations = 0;
  const prepare = async (url: string) => {
    preparations += 1;
    await query(url, "CREATE TABLE note (text text)");
  };
  const [one, two] = await Promise.all([testDatabase(name, prepare), testDatabase(name, prepare)]);
  await query(one.url, "INSERT INTO note VALUES ('mine')");
  await expect(query(one.url, "SELECT text FROM note")).resolves.toEqual([{ text: "mine" }]);
  await expect(query(two.url, "SELECT text FROM note")).resolves.toEqual([]);
  expect(preparations).toBe(1);
  await Promise.all([one.drop(), two.drop()]);
  await expect(query(one.url, "SELECT 1")).rejects.toThrow("does not exist");
});

test("a preparation that failed is not kept, and the next caller prepares anew", async () => {
  const name = `failing ${randomUUID()}`;
  const fail = async (url: string) => {
    await query(url, "CREATE TABLE half (done boolean)");
    throw new Error("no luck");
  };
  await expect(testDatabase(name, fail)).rejects.toThrow("no luck");
  const database = await testDatabase(name, async (url) => void (await query(url, "CREATE TABLE whole ()")));
  await expect(query(database.url, "SELECT to_regclass('half') AS half")).resolves.toEqual([{ half: null }]);
  await database.drop();
});

test("a database can be dropped while somebody is connected", async () => {
  const database = await testDatabase("droppable");
  const client = new pg.Client({ connectionString: database.url });
  const lost = new Promise((resolve) => client.once("end", resolve));
  client.on("error", () => undefined);
  await client.connect();
  await database.drop();
  await lost;
});
