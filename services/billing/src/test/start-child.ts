// Billing as a process of its own that a test can kill, on a database and a Redis that others use too.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { BillingService } from "@gr/proto/billing";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { freePort, until, warmStart } from "@gr/testing";
import type { BillingClient } from "./start-billing.ts";

const ENTRY = fileURLToPath(new URL("../main.ts", import.meta.url));
const SECRET = "internal-secret-of-the-billing-tests-0123456789";

export interface BillingChild {
  readonly billing: BillingClient;
  kill(): Promise<void>;
}

export async function startChild(env: Readonly<Record<string, string>>): Promise<BillingChild> {
  const [httpPort, rpcPort] = [await freePort(), await freePort()];
  const child: ChildProcess = spawn(process.execPath, [ENTRY], {
    env: {
      ...warmStart(),
      ...env,
      INTERNAL_AUTH_SECRET: SECRET,
      SERVICE_HTTP_PORT: String(httpPort),
      SERVICE_RPC_PORT: String(rpcPort),
      LOG_LEVEL: "silent",
    },
    // The channel ends the child with us, whatever ends us.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  try {
    const readyUrl = `http://127.0.0.1:${httpPort}/readyz`;
    await until(async () => (await fetch(readyUrl)).status === 200, { timeoutMs: 60_000 });
  } catch (error) {
    await kill();
    throw error;
  }
  const transport = createRemoteTransport(`http://127.0.0.1:${rpcPort}`, SECRET, systemClock);
  return { billing: createServiceClient(BillingService, "billing", transport), kill };
}
