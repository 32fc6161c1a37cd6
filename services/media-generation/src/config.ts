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

/** @returns undefined if the text has another part than origins */
function originsIn(text: string): ReadonlySet<string> | undefined {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const isOrigin = (part: string) => /^https?:\/\//.test(part) && URL.parse(part)?.origin === part;
  return parts.every(isOrigin) ? new Set(parts) : undefined;
}

function refuseOrigins(context: { addIssue(message: string): void }): never {
  context.addIssue("must be origins such as http://10.0.0.7:8080, separated by commas");
  return z.NEVER;
}

export const mediaGenerationConfig = z.object({
  ...postgresConfig.shape,
  ...dataDirConfig.shape,
  ...holdConfig.shape,
  PUBLIC_BASE_URL: httpUrl(),
  ...providerSettings,
  MEDIA_LOOKUP_URL: httpUrl().optional().meta({
    description: "address of look-ups: `GET {this}/{request id}` answers the bill of a provider",
    byDefault: "–; set with the simulator",
  }),
  MEDIA_S3_BUCKET: z
    .string()
    .min(1)
    .optional()
    .describe("bucket for hosted media, at S3 or a service with its protocol"),
  MEDIA_S3_PREFIX: z.string().default("media/").describe("beginning of every object name in the bucket"),
  MEDIA_S3_REGION: z.string().min(1).default("us-east-1").describe("region of the bucket"),
  MEDIA_S3_ENDPOINT: httpUrl().optional().meta({
    description: "address of another service (MinIO, Ceph, R2); the path then has the name of the bucket",
    byDefault: "AWS's of that region",
  }),
  MEDIA_S3_ACCESS_KEY_ID: z.string().min(1).optional().meta({
    description: "key of the bucket; set with the next setting or not at all",
    byDefault: "from the AWS SDK: `AWS_…` variables, a profile, the role of the pod or machine",
  }),
  MEDIA_S3_SECRET_ACCESS_KEY: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "secret of `MEDIA_S3_ACCESS_KEY_ID`", byDefault: "as the key id" }),
  FFMPEG_PATH: z
    .string()
    .min(1)
    .optional()
    .describe(
      "program that extracts the first picture of a video for its poster; without it only videos in AV1 have a poster ([why](decisions/0023-posters-by-sharp-or-a-program.md))",
    ),
  WEBHOOK_PRIVATE_ORIGINS: z
    .string()
    .default("")
    .transform((text, context) => originsIn(text) ?? refuseOrigins(context))
    .meta({
      description:
        "receivers of webhooks in a private network, as `http://host:port`, separated by commas; all others must be in the public internet",
      byDefault: "–",
    }),
  MEDIA_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MOST_DAYS)
    .default(0)
    .describe(
      "days for which hosted media are stored; `0` = for ever. An account may have a term of its own: `npm run cli -- media retention set --account <id> --days <n>`",
    ),
  MEDIA_TIMEOUT_MS: milliseconds(300_000).describe("longest time of one image request"),
  VIDEO_TIMEOUT_MS: milliseconds(1_200_000).describe(
    "longest time of one video request; its client waits that long, and so must proxies in front of the gateway",
  ),
  MEDIA_MAX_VIDEO_BYTES: count(512 * MEGABYTE).describe(
    "largest video; a larger video is refused and not charged",
  ),
  MEDIA_MAX_BASE64_VIDEO_BYTES: count(64 * MEGABYTE).describe(
    "largest video for `b64_json` or `b64_ephemeral`, which has to be in memory whole",
  ),
  MEDIA_LEASE_MS: milliseconds(30_000).describe(
    "silence after which the process of a generation counts as dead",
  ),
  MEDIA_MAX_RUNNING: count(4_000, 10_000).describe(
    "generations that run in one process at the same time, most of which wait for their provider. One account may use three places for each free place, so at most three quarters; one key may use three places for each that its account may still use. A request beyond the share is answered 429; without a free place, 503",
  ),
  MEDIA_MAX_IN_MEMORY: z.coerce.number().int().min(1).optional().meta({
    description:
      "places in the memory of one process. A generation needs one place for its pictures, and sixteen for a video that must not be stored; without a place, the bytes wait on the wire. One account may use three places for each free place",
    byDefault: "by memory, at most `64`",
  }),
  MEDIA_MAX_FORM_BYTES: count(352 * MEGABYTE).describe(
    "longest multipart/form-data body; the default fits sixteen pictures of 20 MB",
  ),
  MEDIA_MAX_INPUT_BYTES: z.coerce.number().int().min(1).optional().meta({
    description:
      "bytes of bodies above 64 KiB and of other input images in the memory of one process at the same time, from their arrival to the end of their request. Above it the answer is 503 with `Retry-After`. One account may use three bytes for each free byte, so at most three quarters; above it the answer is 429. Set at least four thirds of `MEDIA_MAX_FORM_BYTES`, or the largest forms never fit. At the peak the process needs two to three times as much memory (`services/media-generation/README.md` has figures)",
    byDefault: "by memory, at most `536870912`",
  }),
});
export type MediaGenerationConfig = z.infer<typeof mediaGenerationConfig>;
