// Further gateway processes beside a running split topology, on ports of their own, with its services and its Redis.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, until, warmStart } from "@gr/testing";
import type { Router } from "../e2e/topology.ts";

const ENTRY = fileURLToPath(new URL("../../gateway/src/main.ts", import.meta.url));
const READY_TIMEOUT_MS = 40_000;

export interface Gateway {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

export async function startGateway(router: Router, env: Readonly<Record<string, string>>): Promise<Gateway> {
  const runtime = JSON.parse(await readFile(join(router.dataDir, "runtime.json"), "utf8"));
  const [port, ready] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [ENTRY], {
    env: {
      ...warmStart(),
      LOG_LEVEL: "error",
      ...env,
      ...runtime.addresses,
      INTERNAL_AUTH_SECRET: runtime.internal_auth_secret,
      HOST: "127.0.0.1",
      PORT: String(port),
      SERVICE_HTTP_PORT: String(ready),
      SERVICE_RPC_PORT: "0",
    },
    // The channel ends it with us, whatever ends us.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    await until(async () => (await fetch(`http://127.0.0.1:${ready}/readyz`)).ok, {
      timeoutMs: READY_TIMEOUT_MS,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { baseUrl: `http://127.0.0.1:${port}`, stop };
}
