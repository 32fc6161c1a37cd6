// Gateway settings: the address of the public API, and its rate limits.
import { milliseconds, port, processMemory, redisConfig, stopConfig } from "@gr/runtime";
import { z } from "zod";
import { BadProxyList, parseTrustedProxies } from "./trusted-proxies.ts";

const MAX_PER_SECOND = 100_000;
/** Default rate of an account, as a multiple of one key's rate. */
const ACCOUNT_IN_KEYS = 5;
const MAX_BURST_SECONDS = 60;

/** 0 switches a limit off. */
const perSecond = () => z.coerce.number().int().min(0).max(MAX_PER_SECOND);

function readTrustedProxies(text: string, context: z.RefinementCtx) {
  try {
    return parseTrustedProxies(text);
  } catch (error) {
    if (!(error instanceof BadProxyList)) throw error;
    context.addIssue({ code: "custom", message: error.message });
    return z.NEVER;
  }
}

/** Part of the process's memory for waiting answers. */
const WAITING_SHARE = 1 / 8;
/** Part of all waiting bytes that may wait for one client. */
const CONNECTION_SHARE = 1 / 4;
const LEAST_WAITING_BYTES = 1_024;

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
  RATE_LIMIT_TEXT_PER_SECOND: perSecond()
    .default(50)
    .describe("chat completions and responses of one API key; 0 = no limit"),
  RATE_LIMIT_MEDIA_PER_SECOND: perSecond()
    .default(20)
    .describe("image and video requests of one API key; 0 = no limit"),
  RATE_LIMIT_OTHER_PER_SECOND: perSecond()
    .default(50)
    .describe("all other requests of one API key, or of one person signed in to the console; 0 = no limit"),
  RATE_LIMIT_ACCOUNT_TEXT_PER_SECOND: perSecond()
    .optional()
    .describe("chat completions and responses of all keys of one account; 0 = no limit"),
  RATE_LIMIT_ACCOUNT_MEDIA_PER_SECOND: perSecond()
    .optional()
    .describe("image and video requests of all keys of one account; 0 = no limit"),
  RATE_LIMIT_ACCOUNT_OTHER_PER_SECOND: perSecond()
    .optional()
    .describe("all other requests of all keys of one account; 0 = no limit"),
  RATE_LIMIT_ANONYMOUS_PER_SECOND: perSecond()
    .default(20)
    .describe("requests without a valid API key from one IPv4 address or IPv6 /64; 0 = no limit"),
  RATE_LIMIT_DOWNLOADS_PER_SECOND: perSecond()
    .default(200)
    .describe("downloads of hosted media by one IPv4 address or IPv6 /64; 0 = no limit"),
  RATE_LIMIT_IPV4_PREFIX: z.coerce
    .number()
    .int()
    .min(8)
    .max(32)
    .default(24)
    .describe("prefix length of the IPv4 networks that may send ten times as much as one address"),
  TRUSTED_PROXIES: z
    .string()
    .default("")
    .transform(readTrustedProxies)
    .describe(
      "addresses and networks of the proxies whose X-Forwarded-For counts, or their number; none by default",
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
  ANSWER_STALL_MS: milliseconds(30_000).describe(
    "time in which a client must take some of the bytes that wait for it",
  ),
  ANSWER_MIN_BYTES_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(1_024)
    .describe("slowest client, on average over ANSWER_STALL_MS while bytes wait for it; 0 = any"),
  ANSWER_MAX_WAITING_BYTES: z.coerce
    .number()
    .int()
    .min(LEAST_WAITING_BYTES)
    .optional()
    .describe("bytes of answers that wait for clients of one process; an eighth of its memory when absent"),
  ANSWER_MAX_WAITING_BYTES_PER_CONNECTION: z.coerce
    .number()
    .int()
    .min(LEAST_WAITING_BYTES)
    .optional()
    .describe("bytes of answers that wait for one client; a quarter of ANSWER_MAX_WAITING_BYTES when absent"),
  RATE_LIMIT_BURST_SECONDS: z.coerce
    .number()
    .min(0)
    .max(MAX_BURST_SECONDS)
    .default(2)
    .describe("how many seconds' worth of each limit may come at once, at least one request"),
});
export type GatewayConfig = z.infer<typeof gatewayConfig>;

/** Returns the settings; unset ones follow from the process's memory. */
export function waitingBytesOf(config: GatewayConfig): { processBytes: number; connectionBytes: number } {
  const processBytes =
    config.ANSWER_MAX_WAITING_BYTES ?? Math.floor(processMemory().totalBytes * WAITING_SHARE);
  const connectionBytes =
    config.ANSWER_MAX_WAITING_BYTES_PER_CONNECTION ?? Math.floor(processBytes * CONNECTION_SHARE);
  return { processBytes, connectionBytes };
}

/** Returns the requests per second of one account, by class; 0 = no limit. */
export function accountRates(config: GatewayConfig): Record<"text" | "media" | "other", number> {
  return {
    text: config.RATE_LIMIT_ACCOUNT_TEXT_PER_SECOND ?? ACCOUNT_IN_KEYS * config.RATE_LIMIT_TEXT_PER_SECOND,
    media: config.RATE_LIMIT_ACCOUNT_MEDIA_PER_SECOND ?? ACCOUNT_IN_KEYS * config.RATE_LIMIT_MEDIA_PER_SECOND,
    other: config.RATE_LIMIT_ACCOUNT_OTHER_PER_SECOND ?? ACCOUNT_IN_KEYS * config.RATE_LIMIT_OTHER_PER_SECOND,
  };
}
