// Settings of the catalogue from the environment.
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
    .meta({
      description: "lists the models that only a simulator serves",
      byDefault: "`false`; `true` with the simulator",
    }),
  MEDIA_PROVIDERS: z.string().default("").transform(readMediaProviders).meta({
    description:
      "providers of images and videos, separated by commas, each as `<provider>/<ability>`; the catalogue lists only their models. Abilities: `image`, `video`, `image-input` (accepts pictures with a request)",
    byDefault: "none; the launchers derive it from the keys that are set",
  }),
  CATALOG_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      "folder with your own models, prices and hidden models ([format](#a-catalogue-of-your-own)); the same for every catalogue process",
    ),
  TEXT_PRICE_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "path of a JSON file with the prices of the text models of an upstream of kind `openai`; the catalogue lists only models in the file ([format](../services/catalog/README.md#prices-of-text-models))",
    ),
  TEXT_IMPORT_INTERVAL_MS: milliseconds(3_600_000).describe("pause between two imports of the text models"),
  TEXT_IMPORT_TIMEOUT_MS: milliseconds(20_000).describe("longest time of one listing"),
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
