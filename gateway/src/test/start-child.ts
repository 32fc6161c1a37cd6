// A gateway as a process of its own, in front of fake modules.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort, until, warmStart } from "@gr/testing";
import type { FakeKey } from "./fake-keys.ts";

const ENTRY = fileURLToPath(new URL("./child/main.ts", import.meta.url));

export interface GatewayChild {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** @param key the one that it knows. */
export async function startChild(
  { secret, keyId, accountId }: FakeKey,
  env: Readonly<Record<string, string>>,
): Promise<GatewayChild> {
  const [port, httpPort] = [await freePort(), await freePort()];
  const child: ChildProcess = spawn(process.execPath, [ENTRY], {
    env: {
      ...warmStart(),
      HOST: "127.0.0.1",
      PORT: String(port),
      SERVICE_HTTP_PORT: String(httpPort),
      SERVICE_RPC_PORT: "0",
      INTERNAL_AUTH_SECRET: "a secret for tests that is long enough",
      LOG_LEVEL: "silent",
      TEST_KEY_SECRET: secret,
      TEST_KEY_ID: keyId,
      TEST_ACCOUNT_ID: accountId,
      ...env,
    },
    // The channel ends the child with us, whatever ends us.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  const readyUrl = `http://127.0.0.1:${httpPort}/readyz`;
  try {
    await until(async () => (await fetch(readyUrl)).status === 200, { timeoutMs: 60_000 });
  } catch (error) {
    await stop();
    throw error;
  }
  return { baseUrl: `http://127.0.0.1:${port}`, stop };
}
