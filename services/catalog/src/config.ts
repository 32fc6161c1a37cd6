// What the catalogue reads from the environment.
import { PROVIDER_ABILITIES, type ProviderAbility } from "@gr/models";
import { milliseconds, postgresConfig } from "@gr/runtime";
import { textUpstreamConfig } from "@gr/text-upstream";
import { z } from "zod";
import type { MediaProviders } from "./offer/offer.ts";

const ABILITY = z.enum(PROVIDER_ABILITIES);

export const catalogConfig = z.object({
  ...postgresConfig.shape,
  ...textUpstreamConfig.shape,
  SANDBOX_MODELS: z
    .enum(["true", "false"])
    .default("false")
    .transform((value) => value === "true")
    .describe("list the models that only a simulator serves"),
  MEDIA_PROVIDERS: z
    .string()
    .default("")
    .transform(readMediaProviders)
    .describe("who makes images and videos here; models that none of them makes are not listed"),
  CATALOG_DIR: z
    .string()
    .min(1)
    .optional()
    .describe("folder with the operator's own models, prices and hidden models; taken over as it changes"),
  TEXT_PRICE_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("what text models cost; for an upstream of kind openai, which lists no prices"),
  TEXT_IMPORT_INTERVAL_MS: milliseconds(3_600_000).describe("pause between two imports of the text models"),
  TEXT_IMPORT_TIMEOUT_MS: milliseconds(20_000).describe("how long one listing may take to arrive"),
});

/** "openai/image,xai/image,xai/video" */
function readMediaProviders(text: string, context: z.RefinementCtx): MediaProviders {
  const providers = new Map<string, Set<ProviderAbility>>();
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const [provider = "", ability, ...rest] = entry.split("/");
    const known = ABILITY.safeParse(ability);
    if (provider === "" || rest.length > 0 || !known.success) {
      const abilities = PROVIDER_ABILITIES.join(", ");
      const message = `"${entry}" must be <provider>/<ability>, the ability one of ${abilities}`;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    providers.set(provider, (providers.get(provider) ?? new Set()).add(known.data));
  }
  return providers;
}
