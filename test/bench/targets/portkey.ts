// Portkey's gateway is the contestant of the bench: the fastest published one in Node. It is installed from npm into
// the user's cache, outside of the checkout, in one version with the dependencies of one day. It has no key, no limit,
// no money, no log.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { freePort, until } from "@gr/testing";
import { onCore } from "../processes.ts";

const PACKAGE = "@portkey-ai/gateway";
const VERSION = "1.15.2";
/** Newest day of its dependencies: the day after its own. */
const AS_OF = "2026-08-24";
const PATIENCE = { timeoutMs: 60_000 };

export const PORTKEY_NAME = `Portkey ${VERSION}, nothing on`;

/** @param core its processor core. @returns the process, and the origin of its port */
export async function startPortkey(core: string) {
  const folder = await install();
  const port = await freePort();
  const script = join(folder, "node_modules", PACKAGE, "build/start-server.js");
  const [command, args] = onCore(core, process.execPath, [script, `--port=${port}`, "--headless"]);
  const child = spawn(command, args, { stdio: "ignore", env: { PATH: process.env["PATH"] } });
  const origin = `http://127.0.0.1:${port}`;
  await until(() => fetch(origin).then(drained, () => false), PATIENCE);
  return { child, origin };
}

/** Headers that select the target of a request. @param baseUrl of an upstream with OpenAI's API */
export function portkeyHeaders(baseUrl: string): Readonly<Record<string, string>> {
  return { "x-portkey-provider": "openai", "x-portkey-custom-host": baseUrl };
}

async function drained(response: Response): Promise<boolean> {
  await response.arrayBuffer();
  return true;
}

/** @returns the folder of the installation. @throws Error if npm cannot install it */
async function install(): Promise<string> {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "generation-router/bench", `portkey-${VERSION}`);
  const found = await access(folder).then(
    () => true,
    () => false,
  );
  if (found) return folder;
  const making = `${folder}.${process.pid}`;
  await mkdir(making, { recursive: true });
  const args = ["install", "--prefix", making, "--before", AS_OF, "--omit=dev", "--ignore-scripts"];
  const options = ["--no-audit", "--no-fund", "--loglevel=error", `${PACKAGE}@${VERSION}`];
  const npm = spawn("npm", [...args, ...options], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(npm, "exit");
  if (code !== 0) {
    await rm(making, { recursive: true });
    throw new Error(`npm could not install ${PACKAGE} ${VERSION}: it ended with ${code}`);
  }
  await rename(making, folder);
  return folder;
}
