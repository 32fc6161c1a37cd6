// migrate updates a service's schema in one transaction: numbered migrations, up only, each once.
// A changed applied migration is refused, because history is not edited. A schema is also refused if a newer version
// has removed parts that this one uses; additions are no reason to refuse.
import pg from "pg";
import { OperatorError } from "../process/operator-error.ts";
import { type Migration, readMigrations, type Schema } from "./migration-files.ts";
import { inTransaction, type Pool, type PoolClient } from "./postgres.ts";

/** Longest time of one migration, or of the wait for another process that migrates. */
const PATIENCE_MS = 24 * 3_600_000;

/**
 * Applies the migrations that the database lacks.
 * @returns their names.
 */
export async function migrate(pool: Pool, schema: Schema): Promise<string[]> {
  const migrations = await readMigrations(schema);
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
    for (const { name, sql, digest, contract } of fresh) {
      await client.query(patiently(sql));
      await client.query("INSERT INTO schema_migration (name, checksum, contract) VALUES ($1, $2, $3)", [
        name,
        digest,
        contract,
      ]);
    }
    return fresh.map(({ name }) => name);
  });
}

/**
 * Returns the migrations that `migrate` would apply; reads only.
 * @throws OperatorError if `migrate` would refuse
 */
export async function pendingFiles(pool: Pool, schema: Schema): Promise<string[]> {
  const migrations = await readMigrations(schema);
  return inTransaction(pool, async (client) => {
    await lookIn(client, schema.name);
    const { rows } = await client.query<{ known: boolean }>(
      "SELECT to_regclass('schema_migration') IS NOT NULL AS known",
    );
    const lacking = rows[0]?.known === true ? await newMigrations(client, migrations) : migrations;
    return lacking.map(({ name }) => name);
  });
}

/** Sets `search_path` for the rest of this transaction. */
async function lookIn(client: PoolClient, schema: string): Promise<void> {
  await client.query(`SET LOCAL search_path = ${pg.escapeIdentifier(schema)}`);
}

async function createOwnTables(client: PoolClient): Promise<void> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS schema_migration (
       name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
  await client.query("ALTER TABLE schema_migration ADD COLUMN IF NOT EXISTS contract text");
  // Release 0.1.0 is not ready without this table. No version after it has functions.
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

/** The pool ends a query without an answer much earlier. */
function patiently(text: string) {
  return { text, query_timeout: PATIENCE_MS };
}
