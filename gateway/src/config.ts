// Where the public API listens, and how fast requests may come.
import { milliseconds, port, redisConfig, stopConfig } from "@gr/runtime";
import { z } from "zod";

const MAX_PER_SECOND = 100_000;
const MAX_BURST_SECONDS = 60;

/** 0 switches a limit off. */
const perSecond = (byDefault: number) =>
  z.coerce.number().int().min(0).max(MAX_PER_SECOND).default(byDefault);

export const gatewayConfig = z.object({
  HOST: z.string().min(1).default("127.0.0.1").describe("address that the public API listens on"),
  PORT: port(8080).describe("port of the public API"),
  CONSOLE_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      "folder of the console's build, served at /; by default the one in the bundle, if there is one",
    ),
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .optional()
    .describe("pages of the console may fetch from there and show its media"),
  ...redisConfig.shape,
  ...stopConfig.shape,
  RATE_LIMIT_TEXT_PER_SECOND: perSecond(50).describe(
    "chat completions and responses of one API key; 0 = no limit",
  ),
  RATE_LIMIT_MEDIA_PER_SECOND: perSecond(20).describe(
    "image and video requests of one API key; 0 = no limit",
  ),
  RATE_LIMIT_OTHER_PER_SECOND: perSecond(50).describe("all other requests of one API key; 0 = no limit"),
  RATE_LIMIT_ANONYMOUS_PER_SECOND: perSecond(20).describe(
    "requests without a valid API key from one IPv4 address or IPv6 /64; 0 = no limit",
  ),
  RATE_LIMIT_DOWNLOADS_PER_SECOND: perSecond(200).describe(
    "downloads of hosted media by one IPv4 address or IPv6 /64; 0 = no limit",
  ),
  MAX_CONNECTIONS_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(0)
    .default(500)
    .describe("connections of one public IPv4 address or IPv6 /64 at the same time; 0 = no limit"),
  UPLOAD_STALL_MS: milliseconds(30_000).describe("time in which some bytes of a running upload must come"),
  UPLOAD_MIN_BYTES_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(1_024)
    .describe("slowest upload, on average over UPLOAD_STALL_MS; 0 = any"),
  RATE_LIMIT_BURST_SECONDS: z.coerce
    .number()
    .min(0)
    .max(MAX_BURST_SECONDS)
    .default(2)
    .describe("how many seconds' worth of each limit may come at once, at least one request"),
});
export type GatewayConfig = z.infer<typeof gatewayConfig>;
