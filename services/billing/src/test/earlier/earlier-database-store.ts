// Earlier database owns a database of the version before the chain of steps: the migrations before the carry, and the functions of that
// version, which are stored beside this file.
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectPostgres, createLogger, migrate, type Pool } from "@gr/runtime";
import { type TestDatabase, testDatabase } from "@gr/testing";
import { billingSchema } from "../migrated-database.ts";

const log = createLogger("silent", "test");
/** The first migration that the version before does not have. */
const CARRY = "0014";

export interface EarlierDatabase {
  readonly url: string;
  /** Names are looked up as the version before does. */
  readonly pool: Pool;
  drop(): Promise<void>;
}

/** @param prepare fills the template that all databases of this name are cloned from */
export async function earlierDatabase(
  name: string,
  prepare: (pool: Pool) => Promise<void> = async () => undefined,
): Promise<EarlierDatabase> {
  const database = await testDatabase(`billing before steps ${name}`, async (url) => {
    const pool = await connectPostgres({ url, poolSize: 2, schema: billingSchema.name, log });
    await asVersionBefore((schema) => migrate(pool, schema));
    await pool.end();
    const filling = await poolOf(url);
    await prepare(filling);
    await filling.end();
  });
  return await opened(database);
}

/** Works with the files of the version before. */
export async function asVersionBefore<Result>(
  work: (schema: { readonly name: string; readonly migrations: string }) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "before-steps-"));
  try {
    const migrations = join(folder, "migrations");
    for (const file of await readdir(billingSchema.migrations)) {
      if (file < CARRY) await cp(join(billingSchema.migrations, file), join(migrations, file));
    }
    await cp(join(import.meta.dirname, "sql"), join(folder, "sql"), { recursive: true });
    return await work({ name: billingSchema.name, migrations });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Applies the later migrations. */
export async function carry(url: string): Promise<void> {
  const pool = await connectPostgres({ url, poolSize: 2, schema: billingSchema.name, log });
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
  const plain = await connectPostgres({ url, poolSize: 1, schema: billingSchema.name, log });
  const { rows } = await plain.query<{ place: string }>(
    "SELECT nspname AS place FROM pg_namespace WHERE nspname LIKE 'billing\\_fn\\_%'",
  );
  await plain.end();
  const searchPath = [...rows.map(({ place }) => place), billingSchema.name];
  return await connectPostgres({ url, poolSize: 4, schema: billingSchema.name, searchPath, log });
}
