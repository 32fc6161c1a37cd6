// What the billing module reads from the environment.
import { postgresConfig, processConfig, redisConfig, toSigningKeyOfFile } from "@gr/runtime";
import { z } from "zod";
import { MOST_DAYS } from "./text-log/text-log-store.ts";

export const billingConfig = z.object({
  ...postgresConfig.shape,
  ...redisConfig.shape,
  // Signs the copies of spend windows in Redis.
  INTERNAL_AUTH_SECRET: processConfig.shape.INTERNAL_AUTH_SECRET,
  LEDGER_DISTRIBUTED: z
    .enum(["true", "false"])
    .default("false")
    .transform((value) => value === "true")
    .describe(
      "`true` = the ledger's tables are distributed among the workers of Citus, at the next start; there is no way back. Stop all processes of billing before. The database needs the extension `citus` and its workers",
    ),
  FREE_REQUESTS_PER_DAY: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(50)
    .describe(
      "requests to free models of one account in a UTC day, failed requests included; `0` = no limit",
    ),
  TEXT_LOG_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MOST_DAYS)
    .default(90)
    .describe(
      "days for which the log of text requests is stored, at least: times, tokens, attempts, no word of prompts or answers. A month is deleted as a whole, so lines are stored at most 31 days longer; `0` = no log. An account may have a term of its own, exact to the day: `npm run cli -- text retention set --account <id> --days <n>`",
    ),
  STATEMENT_KEY_FILE: z
    .string()
    .transform(toSigningKeyOfFile)
    .optional()
    .describe(
      "path of a file with the key that signs statements of sealed months: Ed25519 as PKCS#8 in PEM (`openssl genpkey -algorithm ed25519`). Without it statements are not signed",
    ),
  TEXT_SAVED_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(MOST_DAYS)
    .default(30)
    .describe(
      "days for which prompts and answers are saved, for keys that save them, and at most as long as the log of text requests; `0` = none are saved, for any key",
    ),
  TEXT_SAVED_ACCOUNT_MB: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(256)
    .describe(
      "megabytes of saved prompts and answers of one account; of a full account no further ones are saved, and its requests run as before",
    ),
});
