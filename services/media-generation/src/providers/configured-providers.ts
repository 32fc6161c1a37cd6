// ConfiguredProviders are the providers of this process: those with configured credentials.
import type { MediaGenerationConfig } from "../config.ts";
import { createBillLookUp } from "./bill-look-up.ts";
import { mediaProviders } from "./media-providers.ts";
import type { Outbound } from "./outbound.ts";
import type { MediaProvider } from "./provider.ts";

/** Returns the providers by their name in the catalogue's routes. */
export function createProviders(
  config: MediaGenerationConfig,
  outbound: Outbound,
): ReadonlyMap<string, MediaProvider> {
  const bill =
    config.MEDIA_LOOKUP_URL === undefined
      ? {}
      : { lookUp: createBillLookUp(config.MEDIA_LOOKUP_URL, outbound) };
  const settings: Readonly<Record<string, unknown>> = config;
  return new Map(
    mediaProviders.flatMap(({ name, credential, create }) => {
      const secret = settings[credential];
      if (typeof secret !== "string") return [];
      // A provider with its own bill query is queried itself.
      return [[name, { ...bill, ...create({ secret, settings, outbound }) }]];
    }),
  );
}

/** Hosts that the operator has configured. Private addresses are allowed for them. */
export function configuredOrigins(config: MediaGenerationConfig): ReadonlySet<string> {
  const settings: Readonly<Record<string, unknown>> = config;
  const variables = mediaProviders.flatMap(({ baseUrls }) => Object.keys(baseUrls));
  return new Set(variables.flatMap((name) => URL.parse(String(settings[name]))?.origin ?? []));
}
