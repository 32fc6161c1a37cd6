// Earlier database owns a database of the version before the chain of steps: the migrations before the carry, and the functions of that
// version, which are stored beside this file.
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectPostgres, createLogger, migrate, type Pool } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";
import { billingSchema } from "../migrated-database.ts";

const log = createLogger("silent", "test");
/** The first migration that the version before does not have. */
const CARRY = "0014";
const FUNCTIONS = join(import.meta.dirname, "sql");

export interface EarlierDatabase {
  readonly url: string;
  readonly pool: Pool;
  drop(): Promise<void>;
}

/** @param prepare fills the template that all databases of this name are cloned from */
export async function earlierDatabase(
  name: string,
  prepare: (pool: Pool) => Promise<void> = async () => undefined,
): Promise<EarlierDatabase> {
  const database = await testDatabase(`billing before steps ${name}`, async (url) => {
    const pool = await poolOf(url);
    await asVersionBefore((schema) => migrate(pool, schema));
    for (const file of (await readdir(FUNCTIONS)).sort())
      await pool.query(await readFile(join(FUNCTIONS, file), "utf8"));
    await prepare(pool);
    await pool.end();
  });
  return await opened(database);
}

/** Calls `work` on a database with the migrations before the chain. */
export async function asVersionBefore<Result>(
  work: (schema: { readonly name: string; readonly migrations: string }) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "before-steps-"));
  try {
    const migrations = join(folder, "migrations");
    for (const file of await readdir(billingSchema.migrations)) {
      if (file < CARRY) await cp(join(billingSchema.migrations, file), join(migrations, file));
    }
    return await work({ name: billingSchema.name, migrations });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Applies the later migrations. */
export async function carry(url: string): Promise<void> {
  const pool = await poolOf(url);
  try {
    await migrate(pool, billingSchema);
  } finally {
    await pool.end();
  }
}

async function opened({ url, drop }: TestDatabase): Promise<EarlierDatabase> {
  const pool = await poolOf(url);
  return {
    url,
    pool,
    drop: async () => {
      await pool.end();
      await drop();
    },
  };
}

async function poolOf(url: string): Promise<Pool> {
  return await connectPostgres({ url, poolSize: 4, schema: billingSchema.name, log });
}
