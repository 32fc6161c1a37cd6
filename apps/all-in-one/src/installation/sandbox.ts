// The sandbox simulates every provider and the text upstream if no real upstream is configured.
// With one real upstream, nothing is simulated: a paid request must never get an invented answer.

import { type MediaProviderDefinition, mediaProviders } from "@gr/media-generation";
import { type Environment, listenError, settingText } from "@gr/runtime";
import { textUpstreamsOf } from "@gr/text-upstream";
import type { z } from "zod";
import type { LauncherConfig } from "./launcher-config.ts";

export interface Sandbox {
  /** Environment of the modules for the simulator; empty if it does not run. */
  readonly env: Environment;
  readonly url: string | undefined;
  close(): Promise<void>;
}

export async function startSandbox(config: LauncherConfig, env: Environment): Promise<Sandbox> {
  if (meansRealUpstream(config, env)) {
    return { env: offerOf(env), url: undefined, close: async () => undefined };
  }
  const { url, close } = await openSimulator(config, Boolean(env["SIMULATOR_PORT"]));
  return { env: sandboxEnvironment(url), url, close };
}

/**
 * Opens the simulator. A port without an explicit setting yields to a running router, and to our own gateway.
 * @throws OperatorError if the configured port is in use.
 */
async function openSimulator(
  config: LauncherConfig,
  isChosen: boolean,
): Promise<{ url: string; close(): Promise<void> }> {
  // Loaded on demand: a router with real upstreams does not load the simulator.
  const { startSimulator } = await import("@gr/simulator");
  const at = { host: "127.0.0.1", port: config.SIMULATOR_PORT };
  const options = { dataDir: config.DATA_DIR, tokenDelayMs: config.SIMULATOR_TOKEN_DELAY_MS };
  if (!isChosen && at.port === config.PORT) return startSimulator({ ...options, ...at, port: 0 });
  try {
    return await startSimulator({ ...options, ...at });
  } catch (error) {
    const failure = error as NodeJS.ErrnoException;
    if (isChosen || failure.code !== "EADDRINUSE") {
      throw listenError(failure, { host: "HOST", port: "SIMULATOR_PORT" }, at);
    }
    return startSimulator({ ...options, ...at, port: 0 });
  }
}

function meansRealUpstream(config: LauncherConfig, env: Environment): boolean {
  const settings = mediaProviders.flatMap(({ settings: { shape } }) => Object.entries(shape));
  return textUpstreamsOf(config).length > 0 || settings.some(([name, field]) => isSet(name, field, env));
}

/** Lists exactly the models of the configured providers, unless the operator sets a list. */
function offerOf(env: Environment): Environment {
  if (env["MEDIA_PROVIDERS"] !== undefined) return {};
  const on = mediaProviders.filter(({ credential, settings }) => {
    const field = settings.shape[credential];
    return field !== undefined && isSet(credential, field, env);
  });
  const offer = on.flatMap(({ name, abilities }) => abilities.map((ability) => `${name}/${ability}`));
  return { MEDIA_PROVIDERS: offer.join(",") };
}

function isSet(name: string, field: unknown, env: Environment): boolean {
  return settingText(name, field as z.ZodType, env) !== undefined;
}

/** Returns the environment that connects a provider to a simulator; empty if a part of it has no simulation. */
function simulatedProvider({ credential, baseUrls }: MediaProviderDefinition, url: string): Environment {
  const addresses: Record<string, string> = {};
  for (const [variable, at] of Object.entries(baseUrls)) {
    if (at?.simulatedAt === undefined) return {};
    addresses[variable] = url + at.simulatedAt;
  }
  return { ...addresses, [credential]: "sandbox" };
}

/** Points every upstream at a simulator. */
export function sandboxEnvironment(url: string): Environment {
  const upstreams: Environment = {
    TEXT_UPSTREAM_BASE_URL: `${url}/openrouter/api/v1`,
    TEXT_UPSTREAM_API_KEY: "sandbox",
    TEXT_UPSTREAM_KIND: "openrouter",
    ...Object.assign({}, ...mediaProviders.map((provider) => simulatedProvider(provider, url))),
  };
  return {
    ...upstreams,
    ...offerOf(upstreams),
    MEDIA_LOOKUP_URL: `${url}/bill`,
    SANDBOX_MODELS: "true",
  };
}
