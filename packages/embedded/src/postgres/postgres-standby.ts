// A standby of an embedded PostgreSQL: a copy of a stopped server's folder which, once both run, follows that server and
// serves reads, until it is promoted.
import { existsSync } from "node:fs";
import { appendFile, copyFile, cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lockDataDir } from "../process/data-dir-lock.ts";
import { EmbeddedError } from "../process/embedded-error.ts";

export interface StandbyOptions {
  /** Folder of the primary, which must have run with `wal_level` = `replica` and have been stopped cleanly. */
  readonly primaryDir: string;
  /** Folder of the standby; without a database so far. */
  readonly dataDir: string;
  /** Address of the primary for the standby. */
  readonly primaryUrl: string;
  /** Name of the standby in the primary's `synchronous_standby_names`. */
  readonly name: string;
}

/**
 * `startPostgres` then starts it. Both need `max_wal_senders` above 0; the password is that of the primary.
 * @throws EmbeddedError when the primary runs or the standby has a database.
 */
export async function createStandby({
  primaryDir,
  dataDir,
  primaryUrl,
  name,
}: StandbyOptions): Promise<void> {
  const cluster = join(dataDir, "cluster");
  if (existsSync(cluster)) throw new EmbeddedError(`There is a database in ${dataDir} already.`);
  const lock = await lockDataDir(primaryDir);
  try {
    await mkdir(dataDir, { recursive: true });
    await copyFile(join(primaryDir, "password"), join(dataDir, "password"));
    await cp(join(primaryDir, "cluster"), cluster, { recursive: true });
    await appendFile(
      join(cluster, "postgresql.auto.conf"),
      `primary_conninfo = ${quoted(conninfo(primaryUrl, name))}\n`,
    );
    await writeFile(join(cluster, "standby.signal"), "");
  } finally {
    await lock.release();
  }
}

function conninfo(primaryUrl: string, name: string): string {
  const { searchParams, hostname, port, username, password } = new URL(primaryUrl);
  const words = {
    host: searchParams.get("host") ?? hostname,
    port,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    application_name: name,
  };
  return Object.entries(words)
    .map(([word, value]) => `${word}='${value.replaceAll(/['\\]/g, "\\$&")}'`)
    .join(" ");
}

/** A string of a configuration file. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
