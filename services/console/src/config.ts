// Console settings: the environment variables of the console module.
import { postgresConfig } from "@gr/runtime";
import { z } from "zod";
import { statementSettings } from "./statements/statement-config.ts";

/** Returns true for TLS or loopback. The transferred data is as valuable as a session. */
function isSafeToAsk(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}

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
  CONSOLE_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: "must be an https:// URL" })
    .refine(isSafeToAsk, "must be an https:// URL; http:// is for an issuer on this machine only")
    .optional()
    .describe("OpenID Connect issuer; with it, people may sign in there"),
  CONSOLE_OIDC_CLIENT_ID: z.string().min(1).optional().describe("what the issuer calls this console"),
  CONSOLE_OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe("how the console proves that to the issuer"),
  CONSOLE_OIDC_NAME: z
    .string()
    .min(1)
    .max(60)
    .default("Single sign-on")
    .describe("what people call the issuer, such as the name of the organization"),
  CONSOLE_PASSKEYS: z
    .enum(["on", "off"])
    .default("on")
    .describe("off: nobody signs in with a passkey; on: whoever has added one, where browsers can"),
  CONSOLE_CONTACT: z
    .union([z.email(), z.url({ protocol: /^https?$/ })], {
      error: "must be an e-mail address or an http:// or https:// URL",
    })
    .optional()
    .describe("where people reach the operator; shown to whose account is suspended"),
  STRIPE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe("key of a Stripe account; with it, accounts pay for credits by themselves"),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe("with which Stripe signs what it tells /webhooks/stripe"),
  STRIPE_API_URL: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .default("https://api.stripe.com")
    .describe("where Stripe is asked"),
  ...statementSettings,
});
export type ConsoleConfig = z.infer<typeof consoleConfig>;
