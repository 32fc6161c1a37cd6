// What the console module reads from the environment.
import { postgresConfig } from "@gr/runtime";
import { z } from "zod";

export const consoleConfig = z.object({
  ...postgresConfig.shape,
  CONSOLE_URL: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .transform((url) => new URL(url).origin)
    .describe("where browsers reach the console; only pages of this origin may change anything"),
  /** Another secret ends all sessions and links. */
  CONSOLE_SECRET: z
    .string()
    .min(32, "must have at least 32 characters")
    .describe("signs the cookies of sessions and the links that verify addresses"),
  CONSOLE_SIGN_UP: z
    .enum(["open", "closed"])
    .default("closed")
    .describe("open: anybody may make a person and an account; closed: people are invited or added"),
  CONSOLE_SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: "must be an smtp:// or smtps:// URL" })
    .optional()
    .describe("the mail server; without it, links are shown on the terminal of the process, if it has one"),
  CONSOLE_MAIL_FROM: z
    .string()
    .min(3)
    .default("Generation Router <console@localhost>")
    .describe("sender of mails"),
});
export type ConsoleConfig = z.infer<typeof consoleConfig>;
