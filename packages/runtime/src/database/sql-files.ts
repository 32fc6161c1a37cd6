// SQL files of a service are numbered migrations, and functions, which hold no data. The functions of each version are
// in a schema of their own beside the tables, so that two versions can work on one database.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const MIGRATION = /^(\d{4})-[a-z0-9-]+\.sql$/;
const FUNCTION = /^[a-z0-9-]+\.sql$/;
/** First line of a migration that removes something. */
const CONTRACT = /^-- contract: (\S+)\n/;
const PLACE_DIGITS = 12;

export interface Schema {
  readonly name: string;
  /** Absolute path of the folder with the numbered SQL files. The folder `sql` beside it, if there is one, has functions. */
  readonly migrations: string;
}

export interface SqlFile {
  readonly name: string;
  readonly sql: string;
  readonly digest: string;
}

export interface Migration extends SqlFile {
  /**
   * Name of the earlier migration that a version must have, because this one removes parts that older versions use.
   * Null: it only adds, and every older version still works beside it.
   */
  readonly contract: string | null;
}

export interface FunctionFiles {
  readonly files: readonly SqlFile[];
  /** Digest of all files. */
  readonly digest: string;
}

export async function readMigrations({ migrations }: Schema): Promise<Migration[]> {
  const files = await readFiles(migrations, MIGRATION);
  return files.map((file) => ({ ...file, contract: CONTRACT.exec(file.sql)?.[1] ?? null }));
}

export async function readFunctions({ migrations }: Schema): Promise<FunctionFiles> {
  const files = await readFiles(join(migrations, "../sql"), FUNCTION);
  return { files, digest: digestOf(files.map((file) => `${file.name} ${file.digest}`).join("\n")) };
}

/** Returns the schema of the functions with this digest. */
export function placeOf(schema: string, functionsDigest: string): string {
  return `${schema}_fn_${functionsDigest.slice(0, PLACE_DIGITS)}`;
}

/** Returns the schemas in which a version finds its functions and tables, in this order. */
export async function searchPathOf(schema: Schema): Promise<readonly string[]> {
  const { files, digest } = await readFunctions(schema);
  return files.length === 0 ? [schema.name] : [placeOf(schema.name, digest), schema.name];
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
