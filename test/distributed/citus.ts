// Citus finds a PostgreSQL with Citus on this machine. No registry has one, so an operator builds it and names its prefix.
import { access, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

export interface CitusPrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly psql: string;
  /** Default version of the extension. */
  readonly version: string;
}

/** Where `CITUS_PREFIX` is absent. */
const CACHE = join(homedir(), ".cache", "generation-router", "citus", "pg");

/** @returns the programs, or a sentence with the missing part */
export async function findCitus(
  prefix = process.env["CITUS_PREFIX"] ?? CACHE,
): Promise<CitusPrograms | string> {
  const bin = join(prefix, "bin");
  const programs = { initdb: join(bin, "initdb"), postgres: join(bin, "postgres"), psql: join(bin, "psql") };
  for (const folder of ["share/extension", "share/postgresql/extension"]) {
    const control = await readFile(join(prefix, folder, "citus.control"), "utf8").catch(() => "");
    const version = /default_version\s*=\s*'([^']+)'/.exec(control)?.[1];
    const isComplete = await access(programs.postgres).then(
      () => true,
      () => false,
    );
    if (version !== undefined && isComplete) return { ...programs, version };
  }
  return `Citus is missing: build PostgreSQL 18 with Citus, and set CITUS_PREFIX to its prefix; ${prefix} has no PostgreSQL with the extension citus.`;
}
