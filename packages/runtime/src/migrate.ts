// Applies a service's migrations: numbered SQL files, up only, all new ones in one transaction, each once.
// An applied file that was changed later is refused: history is not edited. So is a schema that knows more migrations
// than we do: an older process must not write what a newer one gave another meaning.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "./operator-error.ts";
import { inTransaction, type Pool } from "./postgres.ts";

const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/;

/**
 * @param directory absolute path of the service's `migrations` folder.
 * @returns names of the files that were applied now.
 */
export async function migrate(pool: Pool, directory: string): Promise<string[]> {
  const files = (await readdir(directory)).filter((name) => FILE_NAME.test(name)).sort();
  // Two processes of one service may start together: the second waits here and then finds nothing to do.
  return inTransaction(pool, async (client) => {
    // However long that takes; a table that is in use is waited for as ever.
    await client.query("SET LOCAL statement_timeout = 0");
    await client.query("SET LOCAL lock_timeout = 0");
    await client.query("SELECT pg_advisory_xact_lock(hashtext('migrate ' || current_schema()))");
    await client.query("RESET lock_timeout");
    await client.query(
      `CREATE TABLE IF NOT EXISTS schema_migration (
         name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const { rows } = await client.query<{ name: string; checksum: string }>(
      "SELECT name, checksum FROM schema_migration",
    );
    const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]));
    refuseNewerSchema([...applied.keys()], files);
    const fresh: string[] = [];
    for (const name of files) {
      const sql = await readFile(join(directory, name), "utf8");
      const checksum = createHash("sha256").update(sql).digest("hex");
      const before = applied.get(name);
      if (before === checksum) continue;
      if (before !== undefined) {
        throw new OperatorError(
          `Migration ${name} was changed after it had been applied; add a new one instead.`,
        );
      }
      await client.query(sql);
      await client.query("INSERT INTO schema_migration (name, checksum) VALUES ($1, $2)", [name, checksum]);
      fresh.push(name);
    }
    return fresh;
  });
}

function refuseNewerSchema(applied: readonly string[], files: readonly string[]): void {
  const unknown = applied.filter((name) => !files.includes(name)).sort();
  if (unknown.length === 0) return;
  throw new OperatorError(
    `The database was migrated by a newer version (${unknown.join(", ")}); start that version, or a later one.`,
  );
}
