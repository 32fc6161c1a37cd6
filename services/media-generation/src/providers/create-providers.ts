// The providers that this process can use: those whose credentials are configured.
import type { MediaGenerationConfig } from "../config.ts";
import { createBillLookUp } from "./bill-look-up.ts";
import { mediaProviders } from "./media-providers.ts";
import type { Outbound } from "./outbound.ts";
import type { MediaProvider } from "./provider.ts";

/** By the name that the catalogue's routes use. */
export function createProviders(
  config: MediaGenerationConfig,
  outbound: Outbound,
): ReadonlyMap<string, MediaProvider> {
  const lookUp =
    config.MEDIA_LOOKUP_URL === undefined ? undefined : createBillLookUp(config.MEDIA_LOOKUP_URL, outbound);
  const settings: Readonly<Record<string, unknown>> = config;
  return new Map(
    mediaProviders.flatMap(({ name, credential, create }) => {
      const secret = settings[credential];
      return typeof secret === "string" ? [[name, create({ secret, settings, outbound, lookUp })]] : [];
    }),
  );
}

/** Hosts that the operator has named: they may be anywhere. */
export function configuredOrigins(config: MediaGenerationConfig): ReadonlySet<string> {
  const settings: Readonly<Record<string, unknown>> = config;
  return new Set(mediaProviders.flatMap(({ baseUrl }) => URL.parse(String(settings[baseUrl]))?.origin ?? []));
}
