// Guarantees of migrations on a real database: each runs once, whole or not at all, and is never edited afterwards.
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createLogger } from "../process/logger.ts";
import { migrate, pendingFiles } from "./migrate.ts";
import { connectPostgres, inTransaction, type Pool } from "./postgres.ts";

describe("migrate", () => {
  let schema: string;
  let root: string;
  let directory: string;
  const pools: Pool[] = [];

  const files = () => ({ name: schema, migrations: directory });
  const connect = async () => {
    const pool = await connectPostgres({
      url: process.env["TEST_POSTGRES_URL"] ?? "",
      poolSize: 3,
      schema,
      log: createLogger("silent", "test"),
    });
    pools.push(pool);
    return pool;
  };
  const file = (name: string, sql: string) => writeFile(join(directory, name), sql);
  const tables = async (pool: Pool) => {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = $1 AND table_name NOT LIKE 'schema\\_%' ORDER BY 1`,
      [schema],
    );
    return rows.map(({ name }) => name);
  };

  beforeEach(async () => {
    schema = `migrate_${randomUUID().replaceAll("-", "")}`;
    root = await mkdtemp(join(tmpdir(), "migrations-"));
    directory = join(root, "migrations");
    await mkdir(directory);
    await file("0001-one.sql", "CREATE TABLE one (id int8 PRIMARY KEY); INSERT INTO one VALUES (1);");
    await file("0002-two.sql", "CREATE TABLE two (id int8 REFERENCES one);");
  });
  afterEach(async () => {
    await pools[0]?.query(`DROP SCHEMA ${schema} CASCADE`);
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
    await rm(root, { recursive: true });
  });

  test("applies what is new, in order, once", async () => {
    const pool = await connect();
    await file("README.md", "not a migration");
    await file("3-no-number.sql", "not a migration either");
    expect(await migrate(pool, files())).toEqual(["0001-one.sql", "0002-two.sql"]);
    expect(await migrate(pool, files())).toEqual([]);
    await file("0003-three.sql", "CREATE TABLE three (id int8);");
    expect(await migrate(pool, files())).toEqual(["0003-three.sql"]);
    expect(await tables(pool)).toEqual(["one", "three", "two"]);
  });

  test("two processes that start together apply each file once", async () => {
    const [first, second] = await Promise.all([connect(), connect()]);
    const applied = await Promise.all([migrate(first, files()), migrate(second, files())]);
    expect(applied.flat().sort()).toEqual(["0001-one.sql", "0002-two.sql"]);
    const { rows } = await first.query("SELECT id FROM one");
    expect(rows).toEqual([{ id: 1n }]);
  });

  test("a file that was applied may not change", async () => {
    const pool = await connect();
    await migrate(pool, files());
    await file("0001-one.sql", "CREATE TABLE one (id text);");
    await file("0003-three.sql", "CREATE TABLE three (id int8);");
    await expect(migrate(pool, files())).rejects.toThrow(
      "Migration 0001-one.sql was changed after it had been applied; add a new one instead.",
    );
    expect(await tables(pool)).toEqual(["one", "two"]);
  });

  describe("when a newer version has migrated", () => {
    const newer = async (sql: string) => {
      await file("0003-three.sql", sql);
      await migrate(await connect(), files());
      await rm(join(directory, "0003-three.sql"));
    };

    test("what only adds leaves an older one as it was", async () => {
      await newer("CREATE TABLE three (id int8);");
      const pool = await connect();
      expect(await pendingFiles(pool, files())).toEqual([]);
      expect(await migrate(pool, files())).toEqual([]);
      expect(await tables(pool)).toEqual(["one", "three", "two"]);
    });

    test("a contract is for versions that have the migration that it names", async () => {
      await newer("-- contract: 0002-two.sql\nALTER TABLE one RENAME TO first;");
      const pool = await connect();
      expect(await pendingFiles(pool, files())).toEqual([]);
      await rm(join(directory, "0002-two.sql"));
      const refusal = {
        name: "OperatorError",
        message:
          "A newer version has removed database objects that this version uses (0003-three.sql); start that version, or a later one.",
      };
      await expect(pendingFiles(pool, files())).rejects.toMatchObject(refusal);
      await expect(migrate(pool, files())).rejects.toMatchObject(refusal);
    });

    test("one that has a migration of its own is refused, and changes nothing", async () => {
      await newer("CREATE TABLE three (id int8);");
      const pool = await connect();
      await file("0004-four.sql", "CREATE TABLE four (id int8);");
      await expect(migrate(pool, files())).rejects.toMatchObject({
        name: "OperatorError",
        message:
          "The database was migrated by another version (0003-three.sql) without 0004-four.sql; " +
          "start a version that has both.",
      });
      expect(await tables(pool)).toEqual(["one", "three", "two"]);
    });
  });

  test("a migration may take long, but waits for a table no longer than any statement", async () => {
    const pool = await connect();
    const limits = "current_setting('statement_timeout') AS run, current_setting('lock_timeout') AS wait";
    await file("0003-three.sql", `CREATE TABLE three AS SELECT ${limits};`);
    await migrate(pool, files());
    const { rows } = await pool.query(`SELECT run, wait FROM three UNION ALL SELECT ${limits}`);
    expect(rows).toEqual([
      { run: "0", wait: "10s" },
      { run: "30s", wait: "10s" },
    ]);
  });

  test("a file that fails leaves nothing behind, not even the files before it", async () => {
    const pool = await connect();
    await file("0003-broken.sql", "CREATE TABLE three (id int8); SELECT * FROM nowhere;");
    await expect(migrate(pool, files())).rejects.toThrow("nowhere");
    expect(await tables(pool)).toEqual([]);
    await file("0003-broken.sql", "CREATE TABLE three (id int8);");
    expect(await migrate(pool, files())).toHaveLength(3);
  });

  test("services in one database do not wait for or see each other", async () => {
    const pool = await connect();
    await migrate(pool, files());
    const mine = schema;
    schema = `${mine}_b`;
    const other = await connect();
    expect(await migrate(other, files())).toHaveLength(2);
    await other.query(`DROP SCHEMA ${schema} CASCADE`);
    schema = mine;
    expect(await tables(pool)).toHaveLength(2);
  });
});

describe("connections", () => {
  const options = { poolSize: 2, schema: "runtime_connections", log: createLogger("silent", "test") };

  test("a transaction that fails takes nothing with it, and its connection goes on", async () => {
    const pool = await connectPostgres({ ...options, url: process.env["TEST_POSTGRES_URL"] ?? "" });
    try {
      await pool.query("CREATE TABLE IF NOT EXISTS t (id int8)");
      const work = inTransaction(pool, async (client) => {
        await client.query("INSERT INTO t VALUES (1)");
        throw new Error("no");
      });
      await expect(work).rejects.toThrow("no");
      const { rows } = await pool.query<{ n: bigint }>("SELECT count(*) AS n FROM t");
      expect(rows).toEqual([{ n: 0n }]);
      expect(pool.totalCount).toBe(1);
    } finally {
      await pool.query("DROP SCHEMA runtime_connections CASCADE");
      await pool.end();
    }
  });

  test("a server that does not answer is one sentence without the password", async () => {
    const connect = connectPostgres({ ...options, url: "postgres://user:hunter2@127.0.0.1:1/db" });
    await expect(connect).rejects.toMatchObject({
      name: "OperatorError",
      message: expect.stringMatching(/^PostgreSQL at 127\.0\.0\.1:1 is not usable: .+\.$/),
    });
    await expect(connect).rejects.not.toThrow("hunter2");
  });
});
