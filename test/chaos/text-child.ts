// The text proxy as a process that can be killed, between a router's real services and an edge that knows its caller.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Principal } from "@gr/identity";
import { createHttpApp, defineModule, type Module } from "@gr/runtime";
import { freePort, until, warmStart } from "@gr/testing";
import { z } from "zod";

const ENTRY = fileURLToPath(new URL("../../services/text-proxy/src/main.ts", import.meta.url));

export interface TextChild {
  readonly url: string;
  alive(): boolean;
  /** SIGKILL, then waits. */
  kill(): Promise<void>;
}

/** @param port of its internal HTTP; a free one when not given */
export async function startTextChild(
  env: Readonly<Record<string, string>>,
  port?: number,
): Promise<TextChild> {
  const httpPort = port ?? (await freePort());
  const url = `http://127.0.0.1:${httpPort}`;
  const child: ChildProcess = spawn(process.execPath, [ENTRY], {
    env: { ...warmStart(), ...env, SERVICE_HTTP_PORT: String(httpPort), SERVICE_RPC_PORT: "0" },
    // The channel ends the child with us, whatever ends us.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  try {
    await until(async () => (await fetch(`${url}/readyz`)).status === 200, { timeoutMs: 60_000 });
  } catch (error) {
    await kill();
    throw error;
  }
  return { url, alive: () => child.exitCode === null && child.signalCode === null, kill };
}

/** What the gateway is to the text proxy: a public listener that has authenticated its caller already. */
export function edgeFor(caller: Principal): Module {
  return defineModule({
    name: "edge",
    needs: ["text-proxy"],
    config: z.object({}),
    create: async ({ log, mount }) => {
      const app = createHttpApp({ log, requestId: () => randomUUID() });
      app.addHook("onRequest", async (request) => {
        request.principal = caller;
      });
      await mount(app, "text-proxy", [{ prefix: "/v1/compat/chat/completions" }]);
      return {
        start: async () => {
          await app.listen({ host: "127.0.0.1", port: 0 });
        },
        publicUrl: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
        stop: () => app.close(),
      };
    },
  });
}
