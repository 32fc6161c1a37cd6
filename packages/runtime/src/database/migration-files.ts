// Migration files own the numbered SQL files of a service, and the older versions that each of them excludes.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const MIGRATION = /^(\d{4})-[a-z0-9-]+\.sql$/;
/** First line of a migration that removes something. */
const CONTRACT = /^-- contract: (\S+)\n/;

export interface Schema {
  readonly name: string;
  /** Absolute path of the folder with the numbered SQL files. */
  readonly migrations: string;
}

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly digest: string;
  /**
   * Name of the earlier migration that a version must have, because this one removes parts that older versions use.
   * Null: it only adds, and every older version still works beside it.
   */
  readonly contract: string | null;
}

/** Returns the migrations in the order of their names; none without the folder. */
export async function readMigrations({ migrations }: Schema): Promise<Migration[]> {
  const names = await readdir(migrations).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return Promise.all(
    names
      .filter((name) => MIGRATION.test(name))
      .sort()
      .map(async (name) => {
        const sql = await readFile(join(migrations, name), "utf8");
        const digest = createHash("sha256").update(sql).digest("hex");
        return { name, sql, digest, contract: CONTRACT.exec(sql)?.[1] ?? null };
      }),
  );
}
