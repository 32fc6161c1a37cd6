// What the media-generation module reads from the environment; the providers' own variables stand in their definitions.
import { holdConfig } from "@gr/paid-request";
import { dataDirConfig, milliseconds, postgresConfig } from "@gr/runtime";
import { z } from "zod";
import { mediaProviders } from "./providers/media-providers.ts";

const httpUrl = () => z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });

/** Of what type each is, its provider's definition knows and nobody else needs. */
const providerSettings: object = Object.assign({}, ...mediaProviders.map(({ settings }) => settings.shape));

export const mediaGenerationConfig = z.object({
  ...postgresConfig.shape,
  ...dataDirConfig.shape,
  ...holdConfig.shape,
  PUBLIC_BASE_URL: httpUrl().describe("where clients reach the gateway; the start of every media URL"),
  ...providerSettings,
  MEDIA_LOOKUP_URL: httpUrl()
    .optional()
    .describe("answers GET {this}/{request id} with what a provider billed; the simulator has it"),
  MEDIA_TIMEOUT_MS: milliseconds(300_000).describe("longest time that one generation may take"),
  MEDIA_LEASE_MS: milliseconds(30_000).describe("silence after which a generation's process counts as dead"),
  MEDIA_MAX_RUNNING: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(64)
    .describe("generations that one process runs at the same time; more are refused"),
});
export type MediaGenerationConfig = z.infer<typeof mediaGenerationConfig>;
