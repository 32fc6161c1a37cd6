// Starts the router like a user, with a fresh DATA_DIR, and returns its address. Tests see it over HTTP only, also in their own
// process.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, warmStart } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { migratedDatabase } from "./migrated-database.ts";

export type Topology = "all-in-one" | "split";
export const topologies: readonly Topology[] = ["all-in-one", "split"];
/** If the gateway ring shows that both are alike, `npm test` uses only one of them. */
export const topologiesByDepth = byDepth<readonly Topology[]>({ quick: ["all-in-one"], deep: ["split"] });

const entries: Record<Topology, string> = {
  "all-in-one": fileURLToPath(new URL("../../apps/all-in-one/src/main.ts", import.meta.url)),
  split: fileURLToPath(new URL("../../apps/all-in-one/src/split.ts", import.meta.url)),
};
/** A router in the process of its test is never killed, so a late answer means a slow machine. */
const QUIET = { LOG_LEVEL: "silent", SERVICE_CALL_TIMEOUT_MS: "50000" };
/** Ends only a router that hangs: the first start in a clone builds the console. */
const START_TIMEOUT_MS = 540_000;
const STOP_TIMEOUT_MS = 120_000;

export interface Router {
  readonly baseUrl: string;
  readonly simulatorUrl: string;
  readonly dataDir: string;
  /** Address of a shared PostgreSQL. */
  readonly databaseUrl: string | undefined;
  readonly apiKey: string;
  readonly managementKey: string;
  readonly accountId: string;
  readonly pid: number;
  /** Everything the process has printed. */
  output(): string;
  /** Sends SIGTERM, then waits; returns the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL, then waits. */
  kill(): Promise<void>;
  /** Stops if needed and deletes the data. */
  dispose(): Promise<void>;
}

export interface RouterOptions {
  readonly dataDir?: string;
  /** Uses a database in the running PostgreSQL of the tests, instead of a PostgreSQL of its own. */
  readonly sharedPostgres?: boolean;
  /**
   * Uses a database in that PostgreSQL, and runs the all-in-one in the process of the test, where its code is compiled already. For
   * tests that neither kill the router nor read its log.
   */
  readonly inProcess?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Those of the bootstrap, which started this process too. */
function allocatorSettings(): Record<string, string> {
  const isSetting = ([name]: readonly [string, string | undefined]) => name.startsWith("MALLOC_");
  return Object.fromEntries(Object.entries(process.env).filter(isSetting)) as Record<string, string>;
}

/** Starts a router; with `dataDir`, on the data of an earlier one. */
export async function startRouter(topology: Topology, options: RouterOptions = {}): Promise<Router> {
  const { inProcess = false, sharedPostgres = inProcess } = options;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "generation-router-")));
  const database = sharedPostgres ? await migratedDatabase() : undefined;
  const env = {
    DATA_DIR: dataDir,
    PORT: String(await freePort()),
    SIMULATOR_PORT: String(await freePort()),
    SIMULATOR_TOKEN_DELAY_MS: "0",
    ...(database === undefined ? {} : { DATABASE_URL: database.url }),
    ...options.env,
  };
  const running = await (inProcess && topology === "all-in-one" ? startHere(env) : startAlone(topology, env));
  const credentials = JSON.parse(await readFile(join(dataDir, "credentials.json"), "utf8"));
  return {
    ...running,
    baseUrl: credentials.base_url,
    simulatorUrl: /simulated at (\S+)/.exec(running.output())?.[1] ?? "",
    dataDir,
    databaseUrl: database?.url,
    apiKey: credentials.api_key,
    managementKey: credentials.management_key,
    accountId: credentials.account_id,
    dispose: async () => {
      await running.stop();
      await database?.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

type RunningRouter = Pick<Router, "pid" | "output" | "stop" | "kill">;

async function startHere(env: Readonly<Record<string, string>>): Promise<RunningRouter> {
  // Tests of routers with processes of their own need none of these modules.
  const { startAllInOne } = await import("@gr/all-in-one");
  let output = "";
  const print = (text: string) => {
    output += text;
  };
  const { stop } = await startAllInOne({ ...QUIET, ...env }, { isTerminal: false, print });
  return {
    pid: process.pid,
    output: () => output,
    stop: async () => {
      await stop();
      return 0;
    },
    kill: async () => {
      throw new Error("a router in the process of its test cannot be killed");
    },
  };
}

async function startAlone(topology: Topology, env: Readonly<Record<string, string>>): Promise<RunningRouter> {
  const child = spawn(process.execPath, [entries[topology]], {
    env: {
      PATH: process.env["PATH"] ?? "",
      ...warmStart(),
      ...allocatorSettings(),
      LOG_LEVEL: "error",
      ...env,
    },
    // The channel ends the router with this process, in every case.
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  child.stdout?.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    output += chunk;
  });
  await ready(child, () => output);
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  return {
    pid: child.pid ?? 0,
    output: () => output,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      child.kill("SIGTERM");
      const overdue = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
      const code = await exited;
      clearTimeout(overdue);
      return code;
    },
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function ready(child: ChildProcess, output: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const poll = setInterval(() => {
      if (!output().includes("Ctrl-C stops everything")) return;
      done();
      resolve();
    }, 20);
    const fail = (why: string) => {
      done();
      child.kill("SIGKILL");
      reject(new Error(`${why}; it printed:\n${output()}`));
    };
    const late = setTimeout(() => fail("the router did not become ready in time"), START_TIMEOUT_MS);
    const ended = (code: number | null) => fail(`the router ended with exit code ${code}`);
    const done = () => {
      clearInterval(poll);
      clearTimeout(late);
      child.off("exit", ended);
    };
    child.once("exit", ended);
  });
}
