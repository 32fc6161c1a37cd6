// Brings a service's schema up to date, in one transaction: numbered migrations, up only, each once; then the SQL
// functions, which hold no data and are made anew from their files whenever something changed.
// An applied migration that was changed later is refused: history is not edited. So is a schema that a newer version has
// brought up to date: an older process must not write what a newer one gave another meaning.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "./operator-error.ts";
import { inTransaction, type Pool, type PoolClient } from "./postgres.ts";

const MIGRATION = /^(\d{4})-[a-z0-9-]+\.sql$/;
const FUNCTION = /^[a-z0-9-]+\.sql$/;

interface SqlFile {
  readonly name: string;
  readonly sql: string;
  readonly digest: string;
}

/** What the database has of the functions; the last row of its table. */
interface FunctionSet {
  readonly digest: string;
  /** With their arguments, as DROP takes them. */
  readonly functions: string[];
}

/**
 * Functions belong into `sql/`, but for those that a table or view cannot be without, such as a trigger's: these belong
 * to its migration, since all others are dropped before migrations run. A migration therefore uses none of them.
 * @param directory absolute path of the service's `migrations` folder. Its functions are the files of the folder `sql`
 * beside it, if there is one, applied in the order of their names.
 * @returns names of the files that were applied now.
 */
export async function migrate(pool: Pool, directory: string): Promise<string[]> {
  const migrations = await readFiles(directory, MIGRATION);
  const functions = await readFiles(join(directory, "../sql"), FUNCTION);
  // Two processes of one service may start together: the second waits here and then finds nothing to do.
  return inTransaction(pool, async (client) => {
    // However long that takes; a table that is in use is waited for as ever.
    await client.query("SET LOCAL statement_timeout = 0");
    await client.query("SET LOCAL lock_timeout = 0");
    await client.query("SELECT pg_advisory_xact_lock(hashtext('migrate ' || current_schema()))");
    await client.query("RESET lock_timeout");
    await createOwnTables(client);
    const { fresh, made: before, digest, isCurrent } = await compare(client, migrations, functions);
    if (fresh.length === 0 && isCurrent) return [];

    await dropFunctions(client, before);
    for (const { name, sql, digest: checksum } of fresh) {
      await client.query(sql);
      await client.query("INSERT INTO schema_migration (name, checksum) VALUES ($1, $2)", [name, checksum]);
    }
    const made = await makeFunctions(client, functions);
    await client.query("DELETE FROM schema_functions WHERE digest = $1", [digest]);
    await client.query("INSERT INTO schema_functions (digest, functions) VALUES ($1, $2)", [digest, made]);
    return [...fresh, ...functions].map(({ name }) => name);
  });
}

/**
 * What `migrate` would apply; reads only.
 * @throws OperatorError where `migrate` would refuse
 */
export async function pendingFiles(pool: Pool, directory: string): Promise<string[]> {
  const migrations = await readFiles(directory, MIGRATION);
  const functions = await readFiles(join(directory, "../sql"), FUNCTION);
  const names = (files: readonly SqlFile[]) => files.map(({ name }) => name);
  return inTransaction(pool, async (client) => {
    // Both tables are made in one transaction.
    const { rows } = await client.query<{ known: boolean }>(
      "SELECT to_regclass('schema_functions') IS NOT NULL AS known",
    );
    if (rows[0]?.known !== true) return names([...migrations, ...functions]);
    const { fresh, isCurrent } = await compare(client, migrations, functions);
    return names([...fresh, ...(isCurrent ? [] : functions)]);
  });
}

interface Comparison {
  /** Migrations that the database lacks. */
  readonly fresh: readonly SqlFile[];
  /** Functions that it has. */
  readonly made: readonly string[];
  /** Of the functions that it should have. */
  readonly digest: string;
  /** Whether these are the same. */
  readonly isCurrent: boolean;
}

/** @throws OperatorError when the database is that of a newer version, or a migration was edited. */
async function compare(
  client: PoolClient,
  migrations: readonly SqlFile[],
  functions: readonly SqlFile[],
): Promise<Comparison> {
  const fresh = await newMigrations(client, migrations);
  const digest = digestOf(functions.map((file) => `${file.name} ${file.digest}`).join("\n"));
  const sets = await functionSets(client);
  const current = sets.at(-1);
  if (current?.digest !== digest && sets.some((set) => set.digest === digest)) {
    throw new OperatorError(
      "The SQL functions of the database are those of a newer version; start that version, or a later one.",
    );
  }
  const isCurrent = (current?.digest ?? digestOf("")) === digest;
  return { fresh, made: current?.functions ?? [], digest, isCurrent };
}

async function createOwnTables(client: PoolClient): Promise<void> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS schema_migration (
       name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
  await client.query(
    `CREATE TABLE IF NOT EXISTS schema_functions (
       digest text PRIMARY KEY, functions text[] NOT NULL, ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
       applied_at timestamptz NOT NULL DEFAULT now())`,
  );
}

/** In the order of their names; none when there is no such folder. */
async function readFiles(directory: string, pattern: RegExp): Promise<SqlFile[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return Promise.all(
    names
      .filter((name) => pattern.test(name))
      .sort()
      .map(async (name) => {
        const sql = await readFile(join(directory, name), "utf8");
        return { name, sql, digest: digestOf(sql) };
      }),
  );
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** @throws OperatorError when an applied one was changed, or is one that we do not know. */
async function newMigrations(client: PoolClient, files: readonly SqlFile[]): Promise<SqlFile[]> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    "SELECT name, checksum FROM schema_migration ORDER BY name",
  );
  const unknown = rows.filter((row) => files.every(({ name }) => name !== row.name));
  if (unknown.length > 0) {
    const names = unknown.map(({ name }) => name).join(", ");
    throw new OperatorError(
      `The database was migrated by a newer version (${names}); start that version, or a later one.`,
    );
  }
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  return files.filter(({ name, digest }) => {
    const before = applied.get(name);
    if (before !== undefined && before !== digest) {
      throw new OperatorError(
        `Migration ${name} was changed after it had been applied; add a new one instead.`,
      );
    }
    return before === undefined;
  });
}

/** All that the database ever had, in order: whoever brings an earlier one is an older version. */
async function functionSets(client: PoolClient): Promise<FunctionSet[]> {
  const { rows } = await client.query<FunctionSet>(
    "SELECT digest, functions FROM schema_functions ORDER BY ordinal",
  );
  return rows;
}

/** In one statement, since they may need each other. It fails when something else needs one. */
async function dropFunctions(client: PoolClient, functions: readonly string[]): Promise<void> {
  if (functions.length > 0) await client.query(`DROP ROUTINE ${functions.join(", ")}`);
}

/** @returns the functions that are there now and were not before. */
async function makeFunctions(client: PoolClient, files: readonly SqlFile[]): Promise<string[]> {
  const before = new Set(await functionsOf(client));
  for (const { sql } of files) await client.query(sql);
  return (await functionsOf(client)).filter((name) => !before.has(name));
}

async function functionsOf(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = current_schema()::regnamespace",
  );
  return rows.map(({ name }) => name);
}
