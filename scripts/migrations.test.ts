// Migrations since the last release: the released ones are unchanged, and the later ones keep its processes
// running. A migration that removes something names the released migration that ended the use.
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { expect, test } from "@jest/globals";
import { digestsOfMigrations, lastRelease } from "./release/last-release.ts";
import { removals } from "./removals.ts";
import { ROOT } from "./tool.ts";

/** Migrations that end the writes of each version without them (decision 77): such a version is not ready beside them. */
const STOPS = ["services/billing/migrations/0014-carry-the-accounts.sql"];

test("released migrations are there as they were released", async () => {
  const { migrations } = await lastRelease();
  expect(Object.keys(migrations).length).toBeGreaterThan(10);
  expect(await digestsOfMigrations(ROOT)).toMatchObject(migrations);
});

test("migrations that follow take nothing away, or say since when nobody uses it", async () => {
  const { migrations } = await lastRelease();
  const fresh = Object.keys(await digestsOfMigrations(ROOT)).filter((path) => !(path in migrations));
  const wrong: string[] = [];
  for (const path of fresh) {
    const sql = await readFile(join(ROOT, path), "utf8");
    const [, since] = /^-- contract: (\S+)\n/.exec(sql) ?? [];
    const isReleased = since !== undefined && `${dirname(path)}/${basename(since)}` in migrations;
    const isStop = STOPS.includes(path) && since === basename(path);
    if (removals(sql).length > 0 && !isReleased && !isStop) wrong.push(`${path} ${removals(sql).join(", ")}`);
  }
  expect(wrong).toEqual([]);
});

test.each([
  "ALTER TABLE hold DROP COLUMN cost",
  "ALTER TABLE hold DROP cost",
  "ALTER TABLE hold\n  -- no more\n  RENAME COLUMN cost TO price",
  "ALTER TABLE hold ALTER COLUMN cost TYPE numeric",
  "ALTER TABLE hold ADD COLUMN cost bigint NOT NULL",
  "ALTER TABLE hold ADD cost bigint DEFAULT 0 NOT NULL, ADD price bigint NOT NULL",
  "ALTER TABLE hold ALTER cost SET NOT NULL",
  "ALTER TABLE hold ADD CHECK (cost > 0)",
  "CREATE UNIQUE INDEX one_each ON hold (cost)",
  "CREATE TABLE step (id uuid); CREATE UNIQUE INDEX one_each ON hold (cost)",
  "DROP TABLE hold",
])("%s takes something away", (sql) => {
  expect(removals(sql)).not.toEqual([]);
});

test.each([
  "CREATE TABLE dropped (id uuid PRIMARY KEY, renamed text NOT NULL, CHECK (renamed <> ''))",
  "ALTER TABLE hold ADD COLUMN cost bigint",
  "ALTER TABLE hold ADD COLUMN cost bigint NOT NULL DEFAULT 0 CHECK (cost >= 0)",
  "ALTER TABLE hold DROP CONSTRAINT hold_cost_check, ALTER COLUMN cost DROP NOT NULL",
  "CREATE TABLE step (id uuid); CREATE UNIQUE INDEX one_each ON step (id)",
  "CREATE INDEX by_cost ON hold (cost); DROP INDEX by_price",
  "-- DROP TABLE hold\nALTER TYPE outcome ADD VALUE 'later'",
])("%s takes nothing away", (sql) => {
  expect(removals(sql)).toEqual([]);
});
