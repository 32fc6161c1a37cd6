// migrate updates a service's schema in one transaction: numbered migrations, up only, each once; then the SQL
// functions of this version, beside those of earlier versions, which may still run.
// A changed applied migration is refused, because history is not edited. A schema is also refused if a newer version
// has removed parts that this one uses; additions are no reason to refuse.
import pg from "pg";
import { OperatorError } from "../process/operator-error.ts";
import { inTransaction, type Pool, type PoolClient } from "./postgres.ts";
import {
  type FunctionFiles,
  type Migration,
  placeOf,
  readFunctions,
  readMigrations,
  type Schema,
  type SqlFile,
} from "./sql-files.ts";

/**
 * Sets of functions that remain beside the newest: of the version before, and of the one before that, after a rollback.
 */
const EARLIER_SETS = 2;
/** A contract means that the version before the last no longer runs; its functions may use the removed parts. */
const EARLIER_SETS_AT_CONTRACT = 1;
/** Longest time of one migration, or of the wait for another process that migrates. */
const PATIENCE_MS = 24 * 3_600_000;

/** Functions of some version in this database, by their place. */
interface FunctionSet {
  readonly digest: string;
  /** Signatures with arguments, in the form of DROP. */
  readonly functions: string[];
}

/**
 * Applies migrations and functions. Functions belong into `sql/`, except those that a table or view needs, such as a
 * trigger's: these belong to its migration, which uses none of the others.
 * @returns names of the files that were applied now.
 */
export async function migrate(pool: Pool, schema: Schema): Promise<string[]> {
  const migrations = await readMigrations(schema);
  const functions = await readFunctions(schema);
  // Two processes of one service may start together: the second waits here and then finds nothing to do.
  return inTransaction(pool, async (client) => {
    // No time limit for migrations and for this lock; the lock of a table in use keeps its limit.
    await client.query("SET LOCAL statement_timeout = 0");
    await client.query("SET LOCAL lock_timeout = 0");
    await client.query({
      ...patiently("SELECT pg_advisory_xact_lock(hashtext('migrate ' || $1))"),
      values: [schema.name],
    });
    await client.query("RESET lock_timeout");
    await lookIn(client, schema.name);
    await createOwnTables(client);
    const fresh = await newMigrations(client, migrations);
    const exists = await placeExists(client, schema, functions);

    const contracts = fresh.some(({ contract }) => contract !== null);
    const kept = contracts ? EARLIER_SETS_AT_CONTRACT : EARLIER_SETS;
    if (fresh.length > 0 || !exists) await dropSets(client, schema, functions.digest, kept);
    await lookIn(client, schema.name);
    for (const { name, sql, digest, contract } of fresh) {
      await client.query(patiently(sql));
      await client.query("INSERT INTO schema_migration (name, checksum, contract) VALUES ($1, $2, $3)", [
        name,
        digest,
        contract,
      ]);
    }
    if (!exists) await createSet(client, schema, functions);
    return [...fresh, ...(exists ? [] : functions.files)].map(({ name }) => name);
  });
}

/**
 * Returns the files that `migrate` would apply; reads only.
 * @throws OperatorError if `migrate` would refuse
 */
export async function pendingFiles(pool: Pool, schema: Schema): Promise<string[]> {
  const migrations = await readMigrations(schema);
  const functions = await readFunctions(schema);
  const names = (files: readonly SqlFile[]) => files.map(({ name }) => name);
  return inTransaction(pool, async (client) => {
    await lookIn(client, schema.name);
    // Both tables are created in one transaction.
    const { rows } = await client.query<{ known: boolean }>(
      "SELECT to_regclass('schema_functions') IS NOT NULL AS known",
    );
    if (rows[0]?.known !== true) return names([...migrations, ...functions.files]);
    const fresh = await newMigrations(client, migrations);
    const exists = await placeExists(client, schema, functions);
    return names([...fresh, ...(exists ? [] : functions.files)]);
  });
}

/** Sets `search_path` for the rest of this transaction. */
async function lookIn(client: PoolClient, ...schemas: string[]): Promise<void> {
  await client.query(`SET LOCAL search_path = ${schemas.map(pg.escapeIdentifier).join(", ")}`);
}

async function createOwnTables(client: PoolClient): Promise<void> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS schema_migration (
       name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
  await client.query("ALTER TABLE schema_migration ADD COLUMN IF NOT EXISTS contract text");
  await client.query(
    `CREATE TABLE IF NOT EXISTS schema_functions (
       digest text PRIMARY KEY, functions text[] NOT NULL, ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
       applied_at timestamptz NOT NULL DEFAULT now())`,
  );
}

/** @throws OperatorError if an applied one was changed, or an unknown one has removed something. */
async function newMigrations(client: PoolClient, files: readonly Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<{ name: string; checksum: string; contract: string | null }>(
    "SELECT name, checksum, to_jsonb(m) ->> 'contract' AS contract FROM schema_migration m ORDER BY name",
  );
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const fresh = files.filter(({ name, digest }) => {
    const before = applied.get(name);
    if (before !== undefined && before !== digest) {
      throw new OperatorError(
        `Migration ${name} was changed after it had been applied; add a new one instead.`,
      );
    }
    return before === undefined;
  });
  const ours = new Set(files.map(({ name }) => name));
  const unknown = rows.filter(({ name }) => !ours.has(name));
  const missed = unknown.find(({ contract }) => contract !== null && !ours.has(contract));
  if (missed !== undefined) {
    throw new OperatorError(
      `A newer version has removed database objects that this version uses (${missed.name}); start that version, or a later one.`,
    );
  }
  // A version that is merely older has no migration that the database lacks.
  if (unknown.length > 0 && fresh.length > 0) {
    throw new OperatorError(
      `The database was migrated by another version (${namesOf(unknown)}) without ${namesOf(fresh)}; ` +
        "start a version that has both.",
    );
  }
  return fresh;
}

const namesOf = (named: readonly { readonly name: string }[]) => named.map(({ name }) => name).join(", ");

async function placeExists(client: PoolClient, schema: Schema, functions: FunctionFiles): Promise<boolean> {
  if (functions.files.length === 0) return true;
  return await isSchema(client, placeOf(schema.name, functions.digest));
}

async function isSchema(client: PoolClient, name: string): Promise<boolean> {
  const { rowCount } = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [name]);
  return rowCount === 1;
}

/** Drops all sets but ours and the newest `kept`. Fails if another object needs one of the functions. */
async function dropSets(client: PoolClient, { name }: Schema, ours: string, kept: number): Promise<void> {
  const { rows } = await client.query<FunctionSet>(
    "SELECT digest, functions FROM schema_functions WHERE digest <> $1 ORDER BY ordinal DESC OFFSET $2",
    [ours, kept],
  );
  for (const { digest, functions } of rows) {
    const place = placeOf(name, digest);
    // Functions of old versions had no place of their own, and were among the tables.
    await lookIn(client, place, name);
    if (functions.length > 0) await client.query(`DROP ROUTINE ${functions.join(", ")}`);
    await client.query(`DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(place)}`);
    await client.query(`DELETE FROM ${pg.escapeIdentifier(name)}.schema_functions WHERE digest = $1`, [
      digest,
    ]);
  }
}

async function createSet(
  client: PoolClient,
  { name }: Schema,
  { files, digest }: FunctionFiles,
): Promise<void> {
  const place = placeOf(name, digest);
  await client.query(`CREATE SCHEMA ${pg.escapeIdentifier(place)}`);
  await lookIn(client, place, name);
  for (const { sql } of files) await client.query(sql);
  const { rows } = await client.query<{ name: string }>(
    "SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = $1::regnamespace",
    [place],
  );
  const created = rows.map((row) => row.name);
  await client.query("DELETE FROM schema_functions WHERE digest = $1", [digest]);
  await client.query("INSERT INTO schema_functions (digest, functions) VALUES ($1, $2)", [digest, created]);
}

/** The pool ends a query without an answer much earlier. */
function patiently(text: string) {
  return { text, query_timeout: PATIENCE_MS };
}
