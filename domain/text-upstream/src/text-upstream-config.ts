// The settings of the text upstream. The catalogue imports text models from it and the text proxy sends requests to it. Both
// read the same settings, so that a listed model can always be called.
import { z } from "zod";
import { KIND_NAMES, type UpstreamKind } from "./upstream-kind.ts";
import { UPSTREAM_KINDS } from "./upstream-kinds.ts";

export const textUpstreamConfig = z.object({
  TEXT_UPSTREAM_NAME: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/, "must be 1 to 40 characters of a-z, 0-9 and -")
    .default("default")
    .describe("what routes of text models call this upstream; shown as the provider of text models"),
  TEXT_UPSTREAM_KIND: z.enum(KIND_NAMES).default("openrouter"),
  TEXT_UPSTREAM_BASE_URL: z
    .url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" })
    .optional()
    .describe("everything before /chat/completions; absent = the public address of the kind"),
  TEXT_UPSTREAM_API_KEY: z.string().min(1).optional(),
});

export interface TextUpstream {
  readonly name: string;
  readonly kind: UpstreamKind;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
}

/** The upstream that is meant; undefined when neither an address nor a key is set. */
export function textUpstreamOf(config: z.infer<typeof textUpstreamConfig>): TextUpstream | undefined {
  const { TEXT_UPSTREAM_BASE_URL: address, TEXT_UPSTREAM_API_KEY: apiKey } = config;
  if (address === undefined && apiKey === undefined) return undefined;
  const kind = UPSTREAM_KINDS[config.TEXT_UPSTREAM_KIND];
  const baseUrl = (address ?? kind.publicAddress).replace(/\/+$/, "");
  return { name: config.TEXT_UPSTREAM_NAME, kind, baseUrl, apiKey };
}
