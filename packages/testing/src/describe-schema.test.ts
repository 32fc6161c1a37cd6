// The guarantees of schema descriptions: everything is in them, and nothing that depends on how it came about.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import pg from "pg";
import { compareSchema, describeSchema } from "./describe-schema.ts";
import { testDatabase } from "./test-database.ts";

const STATEMENTS = [
  "CREATE TYPE shop.colour AS ENUM ('red', 'green')",
  `CREATE TABLE shop.item (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, colour shop.colour NOT NULL DEFAULT 'red',
     price bigint CHECK (price > 0), cents bigint GENERATED ALWAYS AS (price * 100) STORED) WITH (fillfactor = 70)`,
  "CREATE TABLE shop.basket (item bigint REFERENCES shop.item (id), UNIQUE (item))",
  "CREATE INDEX dear ON shop.item (price) WHERE price > 1000",
  "CREATE VIEW shop.reds AS SELECT id FROM shop.item WHERE colour = 'red'",
  `CREATE FUNCTION shop.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`,
  "CREATE TRIGGER no_delete BEFORE DELETE ON shop.item EXECUTE FUNCTION shop.refuse()",
  "COMMENT ON TABLE shop.item IS 'What is sold.'",
  "COMMENT ON COLUMN shop.item.price IS 'In euros.'",
];

async function describing<T>(statements: readonly string[], work: (url: string) => Promise<T>): Promise<T> {
  const database = await testDatabase("describe schema");
  const client = new pg.Client({ connectionString: database.url });
  try {
    await client.connect();
    await client.query(
      "CREATE SCHEMA shop; CREATE TABLE shop.schema_migration (name text); CREATE TABLE shop.schema_functions (name text)",
    );
    for (const statement of statements) await client.query(statement);
    return await work(database.url);
  } finally {
    await client.end();
    await database.drop();
  }
}

test("a description has every kind of thing in the schema, and its comments", async () => {
  const text = await describing(STATEMENTS, (url) => describeSchema(url, "shop"));
  for (const part of [
    "CREATE TYPE colour AS ENUM ('red', 'green');",
    "-- What is sold.\nCREATE TABLE item (",
    "  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,",
    "  colour colour NOT NULL DEFAULT 'red'::colour,",
    "  price bigint /* In euros. */,",
    "  cents bigint GENERATED ALWAYS AS (",
    "CHECK (price > 0)",
    "PRIMARY KEY (id)\n) WITH (fillfactor=70);",
    "FOREIGN KEY (item) REFERENCES item(id)",
    "CREATE INDEX dear ON item USING btree (price) WHERE price > 1000;",
    "CREATE VIEW reds AS",
    "CREATE OR REPLACE FUNCTION shop.refuse()",
    "CREATE TRIGGER no_delete BEFORE DELETE ON item",
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain("schema_");
});

test("the same schema made in another order has the same description", async () => {
  const [enumeration = "", item = "", basket = "", index = "", view = "", ...rest] = STATEMENTS;
  const otherwise = [enumeration, item, ...rest, view, index, basket];
  const first = await describing(STATEMENTS, (url) => describeSchema(url, "shop"));
  const second = await describing(otherwise, (url) => describeSchema(url, "shop"));
  expect(second).toBe(first);
});

test("a file that says something else is told apart", async () => {
  const folder = await mkdtemp(join(tmpdir(), "generation-router-schema-"));
  const file = join(folder, "schema.sql");
  try {
    await writeFile(file, await describing(STATEMENTS, (url) => describeSchema(url, "shop")));
    const same = await describing(STATEMENTS, (url) => compareSchema(url, "shop", file));
    expect(same.actual).toBe(same.golden);
    const more = [...STATEMENTS, "ALTER TABLE shop.basket ADD COLUMN count integer"];
    const changed = await describing(more, (url) => compareSchema(url, "shop", file));
    expect(changed.actual).not.toBe(changed.golden);
  } finally {
    await rm(folder, { recursive: true });
  }
});
