// The installation is the base of both topologies: the locked data directory, secrets, PostgreSQL, the sandbox, and the
// resulting environment. Opened before any module, closed after the last.
import { resolve } from "node:path";
import { buildConsole } from "@gr/console-app";
import { freePort, lockDataDir, startPostgres } from "@gr/embedded";
import { type Environment, refuseProblems } from "@gr/runtime";
import { keepServer } from "./kept-server.ts";
import { type LauncherConfig, readLauncherConfig } from "./launcher-config.ts";
import { problemsOf, strayNamesIn } from "./launcher-problems.ts";
import { startSandbox } from "./sandbox.ts";
import { loadSecrets } from "./secrets.ts";

export interface Installation {
  readonly config: LauncherConfig;
  /** The environment for every module. */
  readonly env: Environment;
  readonly publicUrl: string;
  /** Undefined when real upstreams are configured. */
  readonly simulatorUrl: string | undefined;
  readonly embeddedPostgres: boolean;
  close(): Promise<void>;
}

/** @throws OperatorError if a part is missing or broken; opened parts are closed again. */
export async function openInstallation(outer: Environment): Promise<Installation> {
  refuseProblems(problemsOf(outer));
  for (const sentence of strayNamesIn(outer)) process.stderr.write(`${sentence}\n`);
  const read = readLauncherConfig(outer);
  const dataDir = resolve(read.DATA_DIR);
  const config = { ...read, DATA_DIR: dataDir, PORT: read.PORT === 0 ? await freePort() : read.PORT };
  const closers: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const lock = await lockDataDir(dataDir);
    closers.push(() => lock.release());
    const secrets = await loadSecrets(dataDir, outer);
    const sandbox = await startSandbox(config, outer);
    closers.push(() => sandbox.close());
    const databaseUrl = config.DATABASE_URL ?? (await openDatabase(dataDir, closers));
    const publicUrl = localUrl(config);
    const env = {
      LOG_LEVEL: "warn",
      MIGRATE: "on",
      PUBLIC_BASE_URL: publicUrl,
      CONSOLE_URL: publicUrl,
      ...(await consolePages(outer)),
      ...outer,
      ...secrets,
      ...sandbox.env,
      PORT: String(config.PORT),
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
    };
    const embeddedPostgres = config.DATABASE_URL === undefined;
    return { config, env, publicUrl, simulatorUrl: sandbox.url, embeddedPostgres, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the folder of the console's pages. The router works without them. */
async function consolePages({ CONSOLE_DIR }: Environment): Promise<Environment> {
  if (CONSOLE_DIR !== undefined) return {};
  try {
    return { CONSOLE_DIR: await buildConsole((line) => process.stderr.write(`${line}\n`)) };
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
    process.stderr.write(`The console cannot be built, so there are no pages: ${why}\n`);
    return {};
  }
}

/** Returns the gateway's address for this machine, for every listening address. */
function localUrl({ HOST, PORT }: LauncherConfig): string {
  const host = HOST === "0.0.0.0" || HOST === "::" ? "127.0.0.1" : HOST;
  return `http://${host.includes(":") ? `[${host}]` : host}:${PORT}`;
}

async function openDatabase(dataDir: string, closers: (() => Promise<unknown>)[]): Promise<string> {
  const options = { dataDir: `${dataDir}/postgres`, durable: true };
  const postgres = await keepServer(
    "PostgreSQL",
    () => startPostgres(options),
    (sentence) => process.stderr.write(`${sentence}\n`),
  );
  closers.push(() => postgres.stop());
  return postgres.url;
}
