// Further gateway processes beside a running split topology, on ports of their own, with its services and its Redis.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, startChild } from "@gr/testing";
import type { Router } from "../e2e/topology.ts";

const ENTRY = fileURLToPath(new URL("../../gateway/src/main.ts", import.meta.url));

export interface Gateway {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

export async function startGateway(router: Router, env: Readonly<Record<string, string>>): Promise<Gateway> {
  const runtime = JSON.parse(await readFile(join(router.dataDir, "runtime.json"), "utf8"));
  const port = String(await freePort());
  const { stop } = await startChild(ENTRY, {
    LOG_LEVEL: "error",
    ...env,
    ...runtime.addresses,
    INTERNAL_AUTH_SECRET: runtime.internal_auth_secret,
    HOST: "127.0.0.1",
    PORT: port,
  });
  return { baseUrl: `http://127.0.0.1:${port}`, stop: async () => void (await stop()) };
}
