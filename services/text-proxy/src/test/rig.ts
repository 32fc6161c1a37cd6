// The text proxy over real HTTP between a fake billing, a fake catalogue and a test's own upstream.
import { FakeBilling } from "@gr/ledger-model";
import { type ProcessMemory, type RunningProcess, startProcess, systemClock, type Timer } from "@gr/runtime";
import { textProxyModule } from "../module.ts";
import { FakeCatalog } from "./fake-catalog.ts";
import { frontDoor } from "./front-door.ts";

export interface Rig {
  readonly url: string;
  readonly billing: FakeBilling;
  readonly catalog: FakeCatalog;
  readonly running: RunningProcess;
  post(path: "chat/completions" | "responses", body: unknown, init?: RequestInit): Promise<Response>;
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

/** @param upstreamUrl of the one upstream; empty = those that `env` lists */
export async function startRig(
  upstreamUrl: string,
  env: Record<string, string> = {},
  clock: Timer = systemClock,
  catalog = new FakeCatalog(),
  memory?: ProcessMemory,
): Promise<Rig> {
  const billing = new FakeBilling({ credit: 10n ** 15n });
  const running = await startProcess([textProxyModule, billing.module, catalog.module, frontDoor()], {
    env: {
      SERVICE_HTTP_PORT: "0",
      SERVICE_RPC_PORT: "0",
      INTERNAL_AUTH_SECRET: "a secret for tests that is long enough",
      LOG_LEVEL: "silent",
      STOP_GRACE_MS: "3000",
      TEXT_UPSTREAM_BASE_URL: upstreamUrl,
      TEXT_UPSTREAM_API_KEY: upstreamUrl === "" ? "" : "sk-upstream-key-0123456789",
      // One upstream serves all tests, and some let it fail repeatedly.
      TEXT_BREAKER_FAILURES: "1000000",
      ...env,
    },
    clock,
    ...(memory === undefined ? {} : { memory }),
  });
  const url = running.publicUrl("gateway") ?? "";
  const internal = `http://127.0.0.1:${running.httpPort}`;
  while ((await fetch(`${internal}/readyz`)).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, 5));
  return {
    url,
    billing,
    catalog,
    running,
    post: (path, body, init = {}) =>
      fetch(`${url}/v1/compat/${path}`, {
        method: "POST",
        body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
        ...init,
        headers: { "content-type": "application/json", ...init.headers },
      } as RequestInit),
    metrics: async () => (await fetch(`${internal}/metrics`)).text(),
    stop: () => running.stop(),
  };
}

/** A chat request with one message. */
export function chat(model: string, content: unknown, more: Record<string, unknown> = {}) {
  return { model, messages: [{ role: "user", content }], ...more };
}

export function idOf(response: Response): string {
  return response.headers.get("x-request-id") ?? "";
}
