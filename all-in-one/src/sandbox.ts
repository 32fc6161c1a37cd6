// The sandbox: with no real upstream configured, the simulator serves every provider and the text upstream.
// As soon as one is configured, nothing is simulated: a paid request must never get a made-up answer.

import { mediaProviders } from "@gr/media-generation";
import type { Environment } from "@gr/runtime";
import { textUpstreamOf } from "@gr/text-upstream";
import type { LauncherConfig } from "./launcher-config.ts";

export interface Sandbox {
  /** What the modules need in order to use the simulator; nothing when it does not run. */
  readonly env: Environment;
  readonly url: string | undefined;
  close(): Promise<void>;
}

export async function startSandbox(config: LauncherConfig, env: Environment): Promise<Sandbox> {
  if (meansRealUpstream(config, env)) {
    return { env: offerOf(env), url: undefined, close: async () => undefined };
  }
  // A router with real upstreams does not carry the simulator in its memory.
  const { startSimulator } = await import("@gr/simulator");
  const { url, close } = await startSimulator({
    host: "127.0.0.1",
    port: config.SIMULATOR_PORT,
    dataDir: config.DATA_DIR,
    tokenDelayMs: config.SIMULATOR_TOKEN_DELAY_MS,
  });
  return { env: sandboxEnvironment(url), url, close };
}

function meansRealUpstream(config: LauncherConfig, env: Environment): boolean {
  const variables = mediaProviders.flatMap(({ settings }) => Object.keys(settings.shape));
  return textUpstreamOf(config) !== undefined || variables.some((name) => env[name]);
}

/** Lists exactly the models that the configured providers make, unless the operator says which. */
function offerOf(env: Environment): Environment {
  if (env["MEDIA_PROVIDERS"] !== undefined) return {};
  const on = mediaProviders.filter(({ credential }) => env[credential]);
  const offer = on.flatMap(({ name, abilities }) => abilities.map((ability) => `${name}/${ability}`));
  return { MEDIA_PROVIDERS: offer.join(",") };
}

/** Points every upstream at a simulator. */
export function sandboxEnvironment(url: string): Environment {
  const upstreams = {
    TEXT_UPSTREAM_BASE_URL: `${url}/openrouter/api/v1`,
    TEXT_UPSTREAM_API_KEY: "sandbox",
    TEXT_UPSTREAM_KIND: "openrouter",
    OPENAI_BASE_URL: `${url}/openai/v1`,
    OPENAI_API_KEY: "sandbox",
  };
  return {
    ...upstreams,
    ...offerOf(upstreams),
    MEDIA_LOOKUP_URL: `${url}/bill`,
    SANDBOX_MODELS: "true",
  };
}
