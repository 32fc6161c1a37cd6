// Settings of the media-generation module. The providers' own variables are in their definitions.
import { holdConfig } from "@gr/paid-request";
import { dataDirConfig, milliseconds, postgresConfig } from "@gr/runtime";
import { z } from "zod";
import { mediaProviders } from "./providers/media-providers.ts";
import { MOST_DAYS } from "./retention/retention-store.ts";

const httpUrl = () => z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });

const MEGABYTE = 1024 * 1024;

const count = (byDefault: number, most = Number.MAX_SAFE_INTEGER) =>
  z.coerce.number().int().min(1).max(most).default(byDefault);

/** The types of these settings are in the provider's definition only. */
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
  MEDIA_S3_BUCKET: z
    .string()
    .min(1)
    .optional()
    .describe("where hosted media are kept; without it, in DATA_DIR"),
  MEDIA_S3_PREFIX: z.string().default("media/").describe("what every key in the bucket begins with"),
  MEDIA_S3_REGION: z.string().min(1).default("us-east-1"),
  MEDIA_S3_ENDPOINT: httpUrl().optional().describe("of another service than AWS that speaks S3's protocol"),
  MEDIA_S3_ACCESS_KEY_ID: z.string().min(1).optional(),
  MEDIA_S3_SECRET_ACCESS_KEY: z.string().min(1).optional(),
  FFMPEG_PATH: z
    .string()
    .min(1)
    .optional()
    .describe("program that takes the first picture out of videos that are not AV1"),
  MEDIA_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MOST_DAYS)
    .default(0)
    .describe("how long hosted media are kept; 0 = for ever"),
  MEDIA_TIMEOUT_MS: milliseconds(300_000).describe("longest time that one image request may take"),
  VIDEO_TIMEOUT_MS: milliseconds(1_200_000).describe("longest time that one video request may take"),
  MEDIA_MAX_VIDEO_BYTES: count(512 * MEGABYTE).describe("of one video; a larger one is not taken"),
  MEDIA_MAX_BASE64_VIDEO_BYTES: count(64 * MEGABYTE).describe("of one video that is asked for as base64"),
  MEDIA_LEASE_MS: milliseconds(30_000).describe("silence after which a generation's process counts as dead"),
  MEDIA_MAX_RUNNING: count(4_000, 10_000).describe(
    "generations that one process runs at the same time, most of them waiting; more are refused",
  ),
  MEDIA_MAX_IN_MEMORY: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      "places in memory: one for the pictures of a generation, sixteen for a video that must not be kept; others wait. By default by the memory of the process",
    ),
  MEDIA_MAX_FORM_BYTES: count(352 * MEGABYTE).describe(
    "longest multipart/form-data body; by default sixteen pictures of 20 MB fit",
  ),
  MEDIA_MAX_INPUT_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe(
      "bytes of input images that one process holds at the same time; what does not fit is answered 503. By default by the memory of the process",
    ),
});
export type MediaGenerationConfig = z.infer<typeof mediaGenerationConfig>;
