// Portkey's gateway is the contestant of the bench: the fastest published one in Node. It is installed from npm into
// the user's cache, outside of the checkout, in one version with the dependencies of one day. It has no key, no limit,
// no money, no log.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { freePort, until } from "@gr/testing";
import { installNpm } from "../../clients/npm-program.ts";
import { onCore } from "../processes.ts";

const PACKAGE = "@portkey-ai/gateway";
const VERSION = "1.15.2";
/** Newest day of its dependencies: the day after its own. */
const AS_OF = "2026-08-24";
const PATIENCE = { timeoutMs: 60_000 };

export const PORTKEY_NAME = `Portkey ${VERSION}, nothing on`;

/** @param core its processor core. @returns the process, and the origin of its port */
export async function startPortkey(core: string) {
  const folder = await installNpm({ name: PACKAGE, version: VERSION, asOf: AS_OF });
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
