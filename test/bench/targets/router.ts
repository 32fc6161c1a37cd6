// A router of the benches: on its own core, with all functions on, no limit within reach, and enough money.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { sandboxEnvironment } from "@gr/all-in-one";
import { freePort } from "@gr/testing";
import { ROOT } from "../../../scripts/tool.ts";
import type { Target } from "../load.ts";
import { onCore, ROUTER_CORE } from "../processes.ts";

const END_MS = 60_000;

export const chatBody = JSON.stringify({
  model: "sandbox/chat",
  max_tokens: 64,
  messages: [{ role: "user", content: "Tell me about lighthouses. #tokens=32" }],
});

export interface Contestant {
  readonly name: string;
  readonly pid: number;
  readonly target: Target;
}

export interface Upstreams {
  readonly dataDir: string;
  readonly simulatorUrl: string;
  readonly databaseUrl: string;
  /** Launcher of several processes; one process without it. */
  readonly launcher?: "split.ts";
  readonly nodeOptions?: readonly string[];
  /** Tree of the router; this one by default. */
  readonly root?: string;
}

export async function startRouterPinned(
  name: string,
  { dataDir, simulatorUrl, databaseUrl, launcher, nodeOptions = [], root = ROOT }: Upstreams,
  env: Readonly<Record<string, string>> = {},
) {
  const port = await freePort();
  const script = join(appsOf(root), "all-in-one/src", launcher ?? "main.ts");
  const [command, args] = onCore(ROUTER_CORE, process.execPath, [...nodeOptions, script]);
  const inspected = nodeOptions.length > 0;
  const child = spawn(command, args, {
    env: {
      PATH: process.env["PATH"],
      DATA_DIR: dataDir,
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: "error",
      // Limits are on, and beyond reach.
      RATE_LIMIT_TEXT_PER_SECOND: "100000",
      RATE_LIMIT_MEDIA_PER_SECOND: "100000",
      RATE_LIMIT_OTHER_PER_SECOND: "100000",
      RATE_LIMIT_ANONYMOUS_PER_SECOND: "100000",
      ...sandboxEnvironment(simulatorUrl),
      ...env,
    },
    stdio: ["ignore", "pipe", inspected ? "pipe" : "inherit"],
  });
  let output = "";
  child.stderr?.on("data", (chunk) => {
    output += String(chunk);
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the router ended with exit code ${code}`)));
    child.stdout?.on("data", (chunk) => {
      if (String(chunk).includes("Ctrl-C stops everything")) resolve();
    });
  });
  const credentials = JSON.parse(await readFile(join(dataDir, "credentials.json"), "utf8"));
  await fillAccount(root, dataDir, credentials.account_id);
  const headers = { authorization: `Bearer ${credentials.api_key}`, "content-type": "application/json" };
  const target = {
    origin: credentials.base_url,
    path: "/v1/compat/chat/completions",
    headers,
    body: chatBody,
  };
  const inspector = /ws:\/\/\S+/.exec(output)?.[0] ?? "";
  return { child, contestant: { name, pid: child.pid ?? 0, target }, inspector };
}

/** Returns the folder of the programs of a tree. Until 0.2.0 they were at the top. */
export function appsOf(root: string): string {
  const apps = join(root, "apps");
  return existsSync(apps) ? apps : root;
}

/**
 * Adds money: the demo account's 10 USD would not outlast the run. Uses the tree's own command: older trees had other
 * RPCs.
 */
async function fillAccount(root: string, dataDir: string, accountId: string): Promise<void> {
  const order = ["deposit", "add", "--data-dir", dataDir, "--account", accountId, "--usd", "100000"];
  const cli = [join(root, "scripts/bootstrap.mjs"), join(appsOf(root), "cli/src/main.ts")];
  await promisify(execFile)(process.execPath, [...cli, ...order], { cwd: root, timeout: 60_000 });
}

/** Ends a child by a signal, and kills it if it does not end. */
export function endChild(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) resolve();
    const hard = setTimeout(() => child.kill("SIGKILL"), END_MS);
    child.once("exit", () => {
      clearTimeout(hard);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
