// Console settings: the environment variables of the console module.
import { milliseconds, postgresConfig } from "@gr/runtime";
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
    .meta({
      description: "address of the console for browsers; only pages of this origin may change data",
      byDefault: "`http://HOST:PORT` (launchers)",
    }),
  /** Another secret ends all sessions and links. */
  CONSOLE_SECRET: z.string().min(32, "must have at least 32 characters").meta({
    description:
      "signs the cookies of sessions and the links that verify addresses; at least 32 characters; a new value ends all sessions",
    byDefault: "generated (launchers)",
  }),
  CONSOLE_SIGN_UP: z
    .enum(["open", "closed"])
    .default("closed")
    .describe(
      "`open`: every visitor may create a person and an account; `closed`: people are invited, or added by `npm run cli -- console add-owner`",
    ),
  CONSOLE_SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: "must be an smtp:// or smtps:// URL" })
    .optional()
    .describe(
      "the mail server, as `smtps://user:password@host`. Without it, the process prints links to its terminal if it has one, and nowhere else",
    ),
  CONSOLE_MAIL_FROM: z
    .string()
    .min(3)
    .default("Generation Router <console@localhost>")
    .describe("sender of mails"),
  CONSOLE_OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: "must be an https:// URL" })
    .refine(isSafeToAsk, "must be an https:// URL; http:// is for an issuer on this machine only")
    .optional()
    .describe(
      "an OpenID Connect issuer, by the name in its metadata; people may then [sign in there](#single-sign-on). `https://`, or `http://` on the same machine",
    ),
  CONSOLE_OIDC_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe("required with the issuer: the issuer's id of this console"),
  CONSOLE_OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe("required with the issuer: the issuer's secret for this console"),
  CONSOLE_OIDC_NAME: z
    .string()
    .min(1)
    .max(60)
    .default("Single sign-on")
    .describe('name of the issuer for people, on the button "Sign in with …"'),
  CONSOLE_PASSKEYS: z
    .enum(["on", "off"])
    .default("on")
    .describe("`off`: no sign-in with a [passkey](#passkeys)"),
  CONSOLE_CONTACT: z
    .union([z.email(), z.url({ protocol: /^https?$/ })], {
      error: "must be an e-mail address or an http:// or https:// URL",
    })
    .optional()
    .describe(
      "e-mail address or URL of the operator; the console shows it to members of a suspended account",
    ),
  STRIPE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe(
      "key of a Stripe account (a restricted key is enough); with it, accounts [pay for credits without the operator](#top-ups-through-stripe)",
    ),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe("required with the key: signing secret of the webhook endpoint"),
  STRIPE_API_URL: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .default("https://api.stripe.com")
    .describe("address of Stripe's API; another address for tests"),
  CONSOLE_ALERT_INTERVAL_MS: milliseconds(60_000).describe(
    "time between two checks of the [alerts](#alerts) of an account with up to 1,000 keys; it grows by itself for each further 1,000 keys",
  ),
  ...statementSettings,
});
export type ConsoleConfig = z.infer<typeof consoleConfig>;
