// Gateway settings: the address of the public API, and its rate limits.
import { milliseconds, port, processMemory, redisConfig, stopConfig } from "@gr/runtime";
import { z } from "zod";
import { BadProxyList, parseTrustedProxies } from "./network/trusted-proxies.ts";

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
  HOST: z.string().min(1).default("127.0.0.1").describe("address of the public API"),
  PORT: port(8080).describe("port of the public API"),
  CONSOLE_DIR: z.string().min(1).optional().meta({
    description:
      "folder of the build of [`console`](../apps/console), which the gateway serves at `/`; without it there are no pages",
    byDefault: "built (launchers), in the image (gateway)",
  }),
  PUBLIC_BASE_URL: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .optional()
    .meta({
      description:
        "address of the gateway for clients; each media URL begins with it. With `https://`, every answer has `Strict-Transport-Security`: browsers use HTTPS only, for a year",
      byDefault: "`http://HOST:PORT` (launchers)",
    }),
  ...redisConfig.shape,
  ...stopConfig.shape,
  RATE_LIMIT_TEXT_PER_SECOND: perSecond()
    .default(50)
    .describe("chat completions and responses of one API key; `0` = no limit, for each rate"),
  RATE_LIMIT_MEDIA_PER_SECOND: perSecond().default(20).describe("image and video requests of one API key"),
  RATE_LIMIT_OTHER_PER_SECOND: perSecond()
    .default(50)
    .describe("all other requests of one API key, and of one signed-in person of the console"),
  RATE_LIMIT_ACCOUNT_TEXT_PER_SECOND: perSecond().optional().meta({
    description: "chat completions and responses of all keys of one account",
    byDefault: "five times `RATE_LIMIT_TEXT_PER_SECOND`",
  }),
  RATE_LIMIT_ACCOUNT_MEDIA_PER_SECOND: perSecond().optional().meta({
    description: "image and video requests of all keys of one account",
    byDefault: "five times `RATE_LIMIT_MEDIA_PER_SECOND`",
  }),
  RATE_LIMIT_ACCOUNT_OTHER_PER_SECOND: perSecond().optional().meta({
    description: "all other requests of all keys of one account",
    byDefault: "five times `RATE_LIMIT_OTHER_PER_SECOND`",
  }),
  RATE_LIMIT_ANONYMOUS_PER_SECOND: perSecond()
    .default(20)
    .describe(
      "requests without a valid API key from one IPv4 address or IPv6 /64, and ten times that from its network (`RATE_LIMIT_IPV4_PREFIX`). For a minute after an address was over the limit, keys that the gateway has not seen yet count, too, before it verifies them",
    ),
  RATE_LIMIT_DOWNLOADS_PER_SECOND: perSecond()
    .default(200)
    .describe("downloads of hosted media by one IPv4 address or IPv6 /64, and ten times that by its network"),
  RATE_LIMIT_IPV4_PREFIX: z.coerce
    .number()
    .int()
    .min(8)
    .max(32)
    .default(24)
    .describe("prefix length of an IPv4 network, 8 to 32; that of an IPv6 network is 48"),
  TRUSTED_PROXIES: z
    .string()
    .default("")
    .transform(readTrustedProxies)
    .describe(
      "[proxies](reverse-proxies.md) in front of the gateway with a trusted `X-Forwarded-For`: addresses and networks (`10.0.0.0/8, 2001:db8::1`), or the number of proxies (`1`)",
    ),
  MAX_CONNECTIONS_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(0)
    .default(500)
    .describe(
      "connections of one public IPv4 address or IPv6 /64 at the same time. For a new connection the gateway closes the connection of that address that is idle longest; if all have a running request, it closes the new one. Connections from private addresses and from addresses in `TRUSTED_PROXIES` are not counted, since they carry many clients; `0` = no limit",
    ),
  UPLOAD_STALL_MS: milliseconds(30_000).describe(
    "time in which some bytes of a running upload must arrive; otherwise the gateway answers 408 and closes the connection. At any speed, a request must arrive within two minutes",
  ),
  UPLOAD_MIN_BYTES_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(1_024)
    .describe("slowest upload, on average over `UPLOAD_STALL_MS`; `0` = any"),
  ANSWER_STALL_MS: milliseconds(30_000).describe(
    "time in which a client must read some of the bytes that wait for it; otherwise the gateway cuts its connection. A silent answer has no waiting bytes",
  ),
  ANSWER_MIN_BYTES_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(1_024)
    .describe("slowest client, on average over `ANSWER_STALL_MS` while bytes wait for it; `0` = any"),
  ANSWER_MAX_WAITING_BYTES: z.coerce.number().int().min(LEAST_WAITING_BYTES).optional().meta({
    description:
      "bytes of answers in one gateway that wait for clients; above it the gateway cuts connections, those without a valid key first",
    byDefault: "an eighth of the memory",
  }),
  ANSWER_MAX_WAITING_BYTES_PER_CONNECTION: z.coerce.number().int().min(LEAST_WAITING_BYTES).optional().meta({
    description: "bytes of answers that wait for one client; above it the gateway cuts its connection",
    byDefault: "a quarter of `ANSWER_MAX_WAITING_BYTES`",
  }),
  RATE_LIMIT_BURST_SECONDS: z.coerce
    .number()
    .min(0)
    .max(MAX_BURST_SECONDS)
    .default(2)
    .describe("size of the burst, in seconds of each limit; at least one request"),
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
