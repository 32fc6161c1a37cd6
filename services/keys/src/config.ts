// Keys settings: the environment variables of the keys module.
import { createPrivateKey, type KeyObject } from "node:crypto";
import { postgresConfig, redisConfig } from "@gr/runtime";
import { z } from "zod";

/** The lines of a PEM around its base64, and line ends, also in the escaped form of some env files. */
const ARMOUR = /-----[A-Z ]+-----|\\n|\s/g;

/** Converts the text of an Ed25519 key for zod. */
function toSigningKey(text: string, context: z.RefinementCtx): KeyObject {
  const key = ed25519Key(text);
  if (key !== undefined) return key;
  const message = "must be an Ed25519 private key as PKCS#8, in PEM or its base64";
  context.issues.push({ code: "custom", message, input: undefined });
  return z.NEVER;
}

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

function ed25519Key(text: string): KeyObject | undefined {
  const der = Buffer.from(text.replace(ARMOUR, ""), "base64");
  try {
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    // OpenSSL's error is dropped: it may contain parts of the key.
    return undefined;
  }
}
