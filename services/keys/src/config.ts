// Keys settings: the environment variables of the keys module.
import { postgresConfig, redisConfig, toSigningKey } from "@gr/runtime";
import { z } from "zod";

export const keysConfig = z.object({
  ...postgresConfig.shape,
  ...redisConfig.shape,
  /** Secret of all key digests. A change invalidates every key, so it is created once and kept. */
  KEY_PEPPER: z.string().min(32, "must have at least 32 characters").meta({
    description:
      "secret of the digests under which API keys are stored; at least 32 characters. After a [change](#changing-secrets) without `KEY_PEPPER_OTHER`, every key is invalid",
    byDefault: "generated (launchers)",
  }),
  KEY_PEPPER_OTHER: z
    .string()
    .min(32, "must have at least 32 characters")
    .optional()
    .describe(
      "the keys service also finds keys that are stored under this pepper, and stores them under `KEY_PEPPER` from then on",
    ),
  /** An Ed25519 key as PKCS#8: PEM, or the base64 between its first and last line. Changing it ends all web tokens. */
  WEB_TOKEN_PRIVATE_KEY: z.string().transform(toSigningKey).optional().meta({
    description:
      "signs web tokens: an Ed25519 key as PKCS#8, in PEM or its base64 on one line (`openssl genpkey -algorithm ed25519`). Without it the service issues no web tokens, and none are valid",
    byDefault: "generated (launchers)",
  }),
  WEB_TOKEN_PRIVATE_KEY_OTHER: z
    .string()
    .transform(toSigningKey)
    .optional()
    .describe("web tokens with its signature are valid, too"),
  MAX_KEYS_PER_ACCOUNT: z.coerce
    .number()
    .int()
    .min(1)
    .default(10_000)
    .describe("API keys of one account, without deleted keys; a request for more is refused (409)"),
});
