// Guarantees of the partitions of the text log: each month has one ahead of time, whichever process creates it, and each line has one. A
// month that no account keeps is dropped as a whole.
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connectPostgres, createLogger, type Pool } from "@gr/runtime";
import type { TestDatabase } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { AccountReader } from "../reads/account-reader.ts";
import { billingSchema, migratedDatabase } from "../test/migrated-database.ts";
import { createTextLogStore, type TextLine } from "./text-log-store.ts";
import { createMonths, dropMonths, textMonths } from "./text-months-store.ts";

const at = (year: number, month: number, day = 1) => new Date(Date.UTC(year, month - 1, day));
const JANUARY_15 = at(2026, 1, 15);
/** Lines need no hold. */
const NO_HOLDS = new AccountReader({} as never);

let database: TestDatabase;
let pool: Pool;
beforeEach(async () => {
  database = await migratedDatabase();
  pool = await connectPostgres({
    ...{ url: database.url, poolSize: 2, schema: "billing" },
    log: createLogger("silent", "test"),
  });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const months = async () =>
  (await textMonths(pool)).map(({ name, beginsAt, endsAt }) => [name, beginsAt, endsAt]);

const lineOf = (beganAt: Date, accountId: string, id: string = randomUUID()): TextLine => ({
  ...{ id, accountId, spenderId: randomUUID(), model: "m", api: "chat", stream: false, beganAt, tookMs: 1 },
  ...{ firstByteMs: null, finishReason: "stop", userTag: "", usage: null, attempts: [] },
  ...{ errorReason: "", errorMessage: "" },
});

const write = (...lines: TextLine[]) => createTextLogStore(pool, NO_HOLDS).write(lines, 90);

/** Lines of each partition that has any. */
async function places(): Promise<Record<string, number>> {
  const text =
    "SELECT tableoid::regclass::text AS name, count(*)::integer AS lines FROM text_line GROUP BY 1 ORDER BY 1";
  const { rows } = await pool.query<{ name: string; lines: number }>(text);
  return Object.fromEntries(rows.map(({ name, lines }) => [name, lines]));
}

async function keep(accountId: string, days: number): Promise<void> {
  await pool.query("INSERT INTO text_retention (account_id, days) VALUES ($1, $2)", [accountId, days]);
}

const FIRST = ["text_request", null, at(2026, 3)];
const MARCH = ["text_line_2026_03", at(2026, 3), at(2026, 4)];

describe("months", () => {
  test("are made ahead, once, by several processes, and again when a month has passed", async () => {
    expect(await months()).toEqual([["text_request", null, null]]);
    await Promise.all([createMonths(pool, JANUARY_15), createMonths(pool, JANUARY_15)]);
    await createMonths(pool, JANUARY_15);
    expect(await months()).toEqual([FIRST, MARCH, ["text_line_2026_04", at(2026, 4), null]]);
    await createMonths(pool, at(2026, 2));
    await createMonths(pool, at(2026, 2, 28));
    expect(await months()).toEqual([
      ...[FIRST, MARCH],
      ["text_line_2026_04", at(2026, 4), at(2026, 5)],
      ["text_line_2026_05", at(2026, 5), null],
    ]);
  });

  test("continue after a year without billing, with a partition for the year", async () => {
    await createMonths(pool, JANUARY_15);
    await write(lineOf(at(2027, 1), randomUUID()));
    await createMonths(pool, at(2027, 1, 15));
    expect(await months()).toEqual([
      ...[FIRST, MARCH],
      ["text_line_2026_04", at(2026, 4), at(2027, 3)],
      ["text_line_2027_03", at(2027, 3), at(2027, 4)],
      ["text_line_2027_04", at(2027, 4), null],
    ]);
    expect(await places()).toEqual({ text_line_2026_04: 1 });
  });

  test("continue after a process that ended between two statements", async () => {
    const left = "ADD CONSTRAINT text_line_bounds CHECK (began_at < '2025-06-01 00:00:00+00') NOT VALID";
    await pool.query(`ALTER TABLE text_request ${left}`);
    await createMonths(pool, JANUARY_15);
    expect((await months())[0]).toEqual(FIRST);
    await write(lineOf(JANUARY_15, randomUUID()));
    expect(await places()).toEqual({ text_request: 1 });
  });

  test("are bounded without a read of their rows under the lock of the log", async () => {
    const notices: string[] = [];
    const options = "-c search_path=billing -c timezone=UTC -c client_min_messages=debug1";
    const told = new pg.Pool({ connectionString: database.url, max: 1, options });
    told.on("connect", (client) => client.on("notice", ({ message }) => notices.push(message ?? "")));
    const file = join(billingSchema.migrations, "0025-text-log-by-month.sql");
    const [attach = ""] = /ALTER TABLE text_line ATTACH[^;]+/.exec(await readFile(file, "utf8")) ?? [];
    await told.query("ALTER TABLE text_line DETACH PARTITION text_request");
    await told.query(attach);
    await createMonths(told, JANUARY_15);
    await told.end();
    const implied = notices.filter((notice) => notice.includes("is implied by existing constraints"));
    expect(implied).toEqual([
      expect.stringContaining('"text_request"'),
      expect.stringContaining('"text_request"'),
      expect.stringContaining('"text_line_2026_03"'),
    ]);
  });

  test("have each line once, and lines of all times", async () => {
    await createMonths(pool, JANUARY_15);
    const account = randomUUID();
    const lines = [at(2020, 1), JANUARY_15, at(2026, 3, 2), at(2026, 4, 2), at(2031, 1)].map((time) =>
      lineOf(time, account),
    );
    await write(...lines);
    await write(...lines);
    expect(await places()).toEqual({ text_line_2026_03: 1, text_line_2026_04: 2, text_request: 2 });
  });

  test("have the lines that a version before them writes, once", async () => {
    const { id, accountId } = lineOf(JANUARY_15, randomUUID());
    const text = `INSERT INTO text_request (id, account_id, spender_id, model, api, stream, began_at, took_ms, finish_reason, user_tag,
        attempts, error_reason, error_message)
      VALUES ($1, $2, $2, 'm', 'chat', false, $3, 1, '', '', '[]', '', '') ON CONFLICT (id) DO NOTHING`;
    await pool.query(text, [id, accountId, JANUARY_15]);
    await createMonths(pool, JANUARY_15);
    await pool.query(text, [id, accountId, JANUARY_15]);
    await write(lineOf(JANUARY_15, accountId, id));
    expect(await places()).toEqual({ text_request: 1 });
  });
});

describe("months that have ended", () => {
  const removeOld = (byDefault: number, now: Date) =>
    createTextLogStore(pool, NO_HOLDS).removeOld(byDefault, now, new AbortController().signal);

  beforeEach(async () => {
    for (const month of [1, 2, 3, 4]) await createMonths(pool, at(2026, month, 15));
  });

  test("are dropped as a whole, and the first one has their times", async () => {
    const account = randomUUID();
    await write(...[at(2026, 2), at(2026, 3, 5), at(2026, 4, 5)].map((time) => lineOf(time, account)));
    await dropMonths(pool, 30, at(2026, 4, 30));
    expect(await places()).toEqual({ text_line_2026_03: 1, text_line_2026_04: 1 });
    await dropMonths(pool, 30, at(2026, 5, 1));
    expect((await months()).slice(0, 2)).toEqual([
      ["text_request", null, at(2026, 4)],
      ["text_line_2026_04", at(2026, 4), at(2026, 5)],
    ]);
    expect(await places()).toEqual({ text_line_2026_04: 1 });
    await write(lineOf(at(2026, 3, 5), account));
    expect(await places()).toEqual({ text_line_2026_04: 1, text_request: 1 });
  });

  test("stay for an account with a longer term until it has passed, and other lines in them are deleted", async () => {
    const [usual, long] = [randomUUID(), randomUUID()];
    await keep(long, 60);
    for (const account of [usual, long]) await write(lineOf(at(2026, 3, 20), account));
    await removeOld(30, at(2026, 5, 15));
    expect(await places()).toEqual({ text_line_2026_03: 1 });
    expect((await months())[1]).toEqual(MARCH);
    await removeOld(30, at(2026, 5, 20));
    expect(await places()).toEqual({});
    expect((await months())[0]).toEqual(["text_request", null, at(2026, 4)]);
  });

  test("end for an account with a shorter term on its day, and for others with the month", async () => {
    const [usual, short] = [randomUUID(), randomUUID()];
    await keep(short, 5);
    for (const account of [usual, short])
      await write(lineOf(at(2026, 4, 1), account), lineOf(at(2026, 4, 9), account));
    await removeOld(7, at(2026, 4, 13));
    const { rows } = await pool.query<{ account: string }>("SELECT account_id AS account FROM text_line");
    expect(rows.map(({ account }) => account).toSorted()).toEqual([usual, usual, short].toSorted());
  });

  test("end at once without a log", async () => {
    await write(lineOf(at(2026, 4, 15), randomUUID()));
    await removeOld(0, at(2026, 4, 16));
    expect(await places()).toEqual({});
  });
});
