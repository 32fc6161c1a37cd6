// The settings of the text upstreams. The catalogue imports text models from them and the text proxy sends requests to them.
// Both read the same settings, so that a listed model can always be called.
import { OperatorError, readJsonSetting, trimSlashes } from "@gr/runtime";
import { z } from "zod";
import { KIND_NAMES, type UpstreamKind } from "./upstream-kind.ts";
import { UPSTREAM_KINDS } from "./upstream-kinds.ts";

/**
 * Source of an upstream's prices.
 * `listed`: the upstream lists them.
 * `price-list`: our price list of text models has them; other listed models are ignored.
 * `catalogue`: the operator's own catalogue names its models, and nothing is imported.
 */
export const PRICE_SOURCES = ["listed", "price-list", "catalogue"] as const;
export type PriceSource = (typeof PRICE_SOURCES)[number];

/**
 * Ways to continue an answer.
 * `assistant`: from a last message of the assistant.
 * `vllm`: the same, if two fields of vLLM's own request it.
 */
export const CONTINUES = ["assistant", "vllm"] as const;
export type Continues = (typeof CONTINUES)[number];

export interface TextUpstream {
  /** Name of the upstream in routes of models. */
  readonly name: string;
  readonly kind: UpstreamKind;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly prices: PriceSource;
  /** False: nobody bills us for its work, as for our own server. A lost request there has no cost. */
  readonly billed: boolean;
  /** True: unknown fields may pass although our own price list computes the cost. */
  readonly passUnknownFields?: boolean | undefined;
  /** Way to continue an answer from its beginning; undefined if the upstream cannot. */
  readonly continues: Continues | undefined;
  /** Timers that differ from the settings for all upstreams; milliseconds. */
  readonly timers: UpstreamTimerSettings;
}

export interface UpstreamTimerSettings {
  /** To a connection. */
  readonly connectMs?: number | undefined;
  /** From the request to the head of the answer. */
  readonly firstByteMs?: number | undefined;
  /** Between two bytes of an answer. */
  readonly idleMs?: number | undefined;
}

const NAME = /^[a-z0-9-]{1,40}$/;
const NAME_RULE = "must be 1 to 40 characters of a-z, 0-9 and -";
const name = z.string().regex(NAME, NAME_RULE);
const httpUrl = () => z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });
const timer = z.int().min(1).max(86_400_000).optional();

const listed = z.strictObject({
  name,
  kind: z.enum(KIND_NAMES),
  base_url: httpUrl().optional(),
  prices: z.enum(PRICE_SOURCES).optional(),
  billed: z.boolean().default(true),
  pass_unknown_fields: z.boolean().optional(),
  continues: z.enum(CONTINUES).optional(),
  connect_ms: timer,
  first_byte_ms: timer,
  idle_ms: timer,
});

export const textUpstreamConfig = z.object({
  TEXT_UPSTREAM_NAME: z
    .string()
    .regex(NAME, NAME_RULE)
    .default("default")
    .describe("provider name of text models"),
  TEXT_UPSTREAM_KIND: z
    .enum(KIND_NAMES)
    .default("openrouter")
    .describe("`openrouter`, `vercel`, `openai` or `openai-compatible` ([text upstreams](#text-upstreams))"),
  TEXT_UPSTREAM_BASE_URL: httpUrl()
    .optional()
    .meta({ description: "everything before `/chat/completions`", byDefault: "the kind's public address" }),
  TEXT_UPSTREAM_API_KEY: z.string().min(1).optional().describe("key of the text upstream, if it needs one"),
  TEXT_UPSTREAMS: z
    .string()
    .transform((text, context) => readJsonSetting(text, z.array(listed).min(1), context))
    .optional()
    .describe(
      "several text upstreams, the preferred first, as a JSON list ([text upstreams](#text-upstreams)); replaces the four settings above",
    ),
  TEXT_UPSTREAM_KEYS: z
    .string()
    .transform((text, context) => readJsonSetting(text, z.record(name, z.string().min(1)), context))
    .optional()
    .describe("keys of these upstreams: a JSON object, name to key"),
});

type Config = z.infer<typeof textUpstreamConfig>;

/** Returns the configured upstreams, the preferred first; none if nothing is set. @throws OperatorError */
export function textUpstreamsOf(config: Config): readonly TextUpstream[] {
  const { TEXT_UPSTREAMS: list, TEXT_UPSTREAM_KEYS: keys = {} } = config;
  const { TEXT_UPSTREAM_BASE_URL: baseUrl, TEXT_UPSTREAM_API_KEY: apiKey } = config;
  if (list === undefined) {
    if (config.TEXT_UPSTREAM_KEYS !== undefined)
      refuse("TEXT_UPSTREAM_KEYS", "is for TEXT_UPSTREAMS, which is not set");
    if (baseUrl === undefined && apiKey === undefined) return [];
    const one = {
      name: config.TEXT_UPSTREAM_NAME,
      kind: config.TEXT_UPSTREAM_KIND,
      base_url: baseUrl,
      billed: true,
    };
    return [upstreamOf(one, apiKey, "TEXT_UPSTREAM_BASE_URL")];
  }
  for (const [setting, value] of Object.entries({
    TEXT_UPSTREAM_BASE_URL: baseUrl,
    TEXT_UPSTREAM_API_KEY: apiKey,
  })) {
    if (value !== undefined) refuse(setting, "is for one upstream, and TEXT_UPSTREAMS is set");
  }
  const names = list.map((each) => each.name);
  const twice = names.find((each, index) => names.indexOf(each) < index);
  if (twice !== undefined) refuse("TEXT_UPSTREAMS", `has two upstreams of the name ${twice}`);
  const unknown = Object.keys(keys).find((each) => !names.includes(each));
  if (unknown !== undefined)
    refuse("TEXT_UPSTREAM_KEYS", `has a key for ${unknown}, which is not in TEXT_UPSTREAMS`);
  return list.map((each) => upstreamOf(each, keys[each.name], `TEXT_UPSTREAMS: ${each.name}: base_url`));
}

/** @param addressAt name of a missing address in messages */
function upstreamOf(
  row: z.infer<typeof listed>,
  apiKey: string | undefined,
  addressAt: string,
): TextUpstream {
  const kind = UPSTREAM_KINDS[row.kind];
  const at = row.base_url ?? kind.publicAddress;
  if (at === undefined) refuse(addressAt, `is required for the kind ${kind.name}`);
  const prices = row.prices ?? kind.prices;
  const listsThem = kind.listing.prices === "listed";
  if ((prices === "listed" && !listsThem) || (prices === "price-list" && listsThem)) {
    refuse(`TEXT_UPSTREAMS: ${row.name}: prices`, `cannot be ${prices} for the kind ${kind.name}`);
  }
  return {
    name: row.name,
    kind,
    baseUrl: trimSlashes(at),
    apiKey,
    prices,
    billed: row.billed,
    passUnknownFields: row.pass_unknown_fields,
    continues: row.continues,
    timers: { connectMs: row.connect_ms, firstByteMs: row.first_byte_ms, idleMs: row.idle_ms },
  };
}

function refuse(setting: string, problem: string): never {
  throw new OperatorError(`The configuration is not usable: ${setting} ${problem}.`);
}
