// Guarantees of mailed links: existing persons and welcome strangers get one; every other address gets none.
import { createLogger } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { consoleConfig } from "../config.ts";
import { linksTo } from "../mail/links.ts";
import type { Mail } from "../mail/mailer.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { addUnverified } from "../test/unverified-person-store.ts";
import { createPeople, type People } from "./people.ts";

let database: ConsoleDatabase;
let people: People;
let mails: Mail[];
beforeAll(async () => {
  database = await startConsoleDatabase();
  const origin = "http://localhost:1";
  const config = consoleConfig.parse({
    DATABASE_URL: database.url,
    CONSOLE_URL: origin,
    CONSOLE_SECRET: "s".repeat(32),
  });
  const mailer = { sends: true, send: (mail: Mail) => void mails.push(mail), close: () => undefined };
  const log = createLogger("silent", "test");
  people = createPeople({ config, pool: database.pool, mailer, links: linksTo(origin), log });
  await people.findOrMake("known@example.com", "Known");
  await addUnverified(database.pool, { email: "unverified@example.com", password: "of a stranger" });
});
beforeEach(async () => {
  mails = [];
  await database.pool.query("TRUNCATE verification");
});
afterAll(() => database.stop());

test.each([
  ["known@example.com", false, "/reset-password"],
  ["known@example.com", true, "/reset-password"],
  ["unverified@example.com", false, "/verify-email"],
  ["stranger@example.com", true, "/verify-email"],
  ["stranger@example.com", false, undefined],
])("%s, welcome: %s, is mailed a link to %s, and one row is written", async (email, isWelcome, page) => {
  await people.sendPasswordLink(email, isWelcome);
  expect(mails.map(({ to, link }) => [to, new URL(link).pathname])).toEqual(
    page === undefined ? [] : [[email, page]],
  );
  expect((await database.pool.query("SELECT FROM verification")).rowCount).toBe(1);
  expect(await people.find("stranger@example.com")).toBeUndefined();
});
