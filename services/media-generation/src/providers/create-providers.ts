// The providers that this process can use: those whose credentials are configured.
import type { MediaGenerationConfig } from "../config.ts";
import type { Outbound } from "../outbound.ts";
import type { MediaProvider } from "../provider.ts";
import { createBillLookUp } from "./bill-look-up.ts";
import { createOpenAiProvider } from "./openai/openai-provider.ts";

/** The variable that switches a provider on, for the operator's log. */
export const CREDENTIALS: Readonly<Record<string, string>> = { openai: "OPENAI_API_KEY" };

/** By the name that the catalogue's routes use. */
export function createProviders(
  config: MediaGenerationConfig,
  outbound: Outbound,
): ReadonlyMap<string, MediaProvider> {
  const lookUp =
    config.MEDIA_LOOKUP_URL === undefined ? undefined : createBillLookUp(config.MEDIA_LOOKUP_URL, outbound);
  const providers: MediaProvider[] = [];
  if (config.OPENAI_API_KEY !== undefined) {
    const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl } = config;
    providers.push(createOpenAiProvider({ apiKey, baseUrl, outbound, lookUp }));
  }
  return new Map(providers.map((provider) => [provider.name, provider]));
}
