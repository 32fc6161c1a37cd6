// The sandbox: with no real upstream configured, the simulator serves every provider and the text upstream.
// As soon as one is configured, nothing is simulated: a paid request must never get a made-up answer.

import type { Environment } from "@gr/runtime";
import { startSimulator } from "@gr/simulator";
import type { LauncherConfig } from "./launcher-config.ts";

/** Variables that mean "a real upstream is meant". */
const REAL_UPSTREAMS = [
  "TEXT_UPSTREAM_API_KEY",
  "TEXT_UPSTREAM_BASE_URL",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
];

/** What becomes possible when a variable is set: providers and abilities, as the catalogue's MEDIA_PROVIDERS has them. */
const MEDIA_PROVIDERS: Readonly<Record<string, string>> = { OPENAI_API_KEY: "openai/image" };

export interface Sandbox {
  /** What the modules need in order to use the simulator; nothing when it does not run. */
  readonly env: Environment;
  readonly url: string | undefined;
  close(): Promise<void>;
}

export async function startSandbox(config: LauncherConfig, env: Environment): Promise<Sandbox> {
  if (REAL_UPSTREAMS.some((name) => env[name]))
    return { env: mediaProviders(env), url: undefined, close: async () => undefined };
  const { url, close } = await startSimulator({
    host: "127.0.0.1",
    port: config.SIMULATOR_PORT,
    dataDir: config.DATA_DIR,
    tokenDelayMs: config.SIMULATOR_TOKEN_DELAY_MS,
  });
  return { env: sandboxEnvironment(url), url, close };
}

/** Lists exactly the models that the configured providers make, unless the operator says which. */
function mediaProviders(env: Environment): Environment {
  if (env["MEDIA_PROVIDERS"] !== undefined) return {};
  const able = Object.entries(MEDIA_PROVIDERS).flatMap(([name, providers]) => (env[name] ? [providers] : []));
  return { MEDIA_PROVIDERS: able.join(",") };
}

/** Points every upstream at a simulator. */
export function sandboxEnvironment(url: string): Environment {
  return {
    MEDIA_PROVIDERS: "openai/image",
    TEXT_UPSTREAM_BASE_URL: `${url}/openrouter/api/v1`,
    TEXT_UPSTREAM_API_KEY: "sandbox",
    TEXT_UPSTREAM_KIND: "openrouter",
    OPENAI_BASE_URL: `${url}/openai/v1`,
    OPENAI_API_KEY: "sandbox",
    MEDIA_LOOKUP_URL: `${url}/bill`,
    SANDBOX_MODELS: "true",
  };
}
