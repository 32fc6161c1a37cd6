// TextTerms are the items of a text request's bill beyond tokens at the usual rates: service tiers, long inputs,
// cache writes, tools of the provider, expensive hosts. The rules are the providers' own, from the sources named
// here, never from the router's list.

import type { PicoUsd } from "../bill/prices.ts";
import { Refusal } from "../request/refusal.ts";
import { isObject, type JsonObject } from "../request/request-fields.ts";
import type { TextModel } from "./models.ts";

export type Seller = "openai" | "openrouter" | "vercel" | "local";

/** A factor without rounding: numerator and denominator. */
export type Factor = readonly [bigint, bigint];

export interface ToolItem {
  /** The type of its item in the output. */
  readonly type: string;
  readonly fee: PicoUsd;
}

export interface TextTerms {
  /** Tier that serves the request, by its name in the answer. */
  readonly tier: string;
  readonly input: Factor;
  readonly output: Factor;
  /** Input tokens that are written to a cache, and their rate relative to the input's. */
  readonly written: number;
  readonly writeRate: Factor;
  /** True if they are cached for longer than usual. */
  readonly hasLongWrites: boolean;
  /** Output that the limit of the request does not cover: thoughts, rejected predictions. */
  readonly beside: number;
  readonly items: readonly ToolItem[];
  readonly fee: PicoUsd;
}

const ONE: Factor = [1n, 1n];
const MILLION = 1_000_000n;
const CENT: PicoUsd = 10_000_000_000n;
/** PyPI litellm 1.109.1: OpenAI's gpt-5 to 6.1; OpenRouter bills the tier that served. */
const TIERS: Readonly<Record<string, Factor>> = {
  priority: [2n, 1n],
  fast: [2n, 1n],
  flex: [1n, 2n],
  ultrafast: [6n, 1n],
};
/** npm @anthropic-ai/sdk 1.12.0, `speed`: 2 to 6 times. */
const FAST_MODE: Factor = [6n, 1n];
/** PyPI litellm 1.109.1: above 272k input twice, output one and a half times, with every tier. */
const LONG_INPUT_TOKENS = 272_000;
/** developers.openai.com/api/docs/pricing: fees of each call; a container by its memory; a picture of high quality. */
const OPENAI_FEES: readonly (readonly [string, string, PicoUsd])[] = [
  ["web_search_preview", "web_search_call", (5n * CENT) / 2n],
  ["web_search", "web_search_call", CENT],
  ["file_search", "file_search_call", CENT / 4n],
  ["image_generation", "image_generation_call", 21n * CENT],
];
const CONTAINER: PicoUsd = 3n * CENT;
const MEMORY: Readonly<Record<string, bigint>> = { "1g": 1n, "4g": 4n, "16g": 16n, "64g": 64n };
/** OpenRouter's documentation of server tools: a deep search of Exa. */
const DEEP_SEARCH: PicoUsd = (3n * CENT) / 2n;
/** Price of a host with this name, relative to the listed price. */
const DEAR_HOST: Factor = [3n, 1n];
const HOSTS: Readonly<Record<string, Factor>> = { "sandbox-dear": DEAR_HOST };
const BYTES_PER_TOKEN = 4;
const CALLS = "#calls=";
/** OpenRouter's openapi.yaml: the most steps. */
const MOST_STEPS = 30;

export function termsOf(
  seller: Seller,
  model: TextModel,
  body: JsonObject,
  { inputTokens, lastUserText }: { readonly inputTokens: number; readonly lastUserText: string },
): TextTerms {
  const gateway = seller === "vercel" ? gatewayOptions(body) : undefined;
  const tier = seller === "local" ? "default" : tierOf(gateway?.tier ?? body["service_tier"]);
  if (seller === "local") return { ...usual(tier), beside: 0 };
  const long = model.tiered === true && inputTokens > LONG_INPUT_TOKENS;
  const isFast = gateway?.isFast ?? (seller === "openrouter" && body["speed"] === "fast");
  const host = seller === "openrouter" ? hostFactor(model, body) : (gateway?.host ?? ONE);
  const factor = product(TIERS[tier] ?? ONE, isFast ? FAST_MODE : ONE, host);
  const cache = model.tiered === true ? cacheOf(seller, body, inputTokens) : undefined;
  const calls = callsAsked(lastUserText);
  const items = seller === "openai" ? openAiItems(body, calls) : [];
  return {
    ...usual(tier),
    ...(cache ?? {}),
    input: product(factor, long ? [2n, 1n] : ONE),
    output: product(factor, long ? [3n, 2n] : ONE),
    beside: besideTokens(seller, body),
    items,
    fee:
      items.reduce((sum, item) => sum + item.fee, 0n) +
      (seller === "openrouter" ? routerFees(body, calls) : searchFee(body)),
  };
}

function usual(tier: string): TextTerms {
  return {
    ...{ tier, input: ONE, output: ONE, written: 0, writeRate: ONE },
    ...{ hasLongWrites: false, beside: 0, items: [], fee: 0n },
  };
}

function tierOf(asked: unknown): string {
  return typeof asked === "string" && asked in TIERS ? (asked === "fast" ? "priority" : asked) : "default";
}

/** @throws Refusal if the host costs more than the request allows */
function hostFactor({ price }: TextModel, { provider }: JsonObject): Factor {
  if (!isObject(provider)) return ONE;
  const names = [provider["only"], provider["order"]].flatMap((list) => (Array.isArray(list) ? list : []));
  const fastest = provider["sort"] === "throughput" || provider["sort"] === "latency";
  const host = fastest ? "sandbox-dear" : names.find((name) => typeof name === "string" && name in HOSTS);
  const factor = HOSTS[String(host)] ?? ONE;
  const most = provider["max_price"];
  if (!isObject(most)) return factor;
  const rates = { prompt: price.input, completion: price.output };
  for (const [name, rate] of Object.entries(rates)) {
    const limit = most[name];
    if (limit !== undefined && (rate * factor[0] * MILLION) / factor[1] > picoOf(limit)) {
      throw new Refusal("no_endpoint", "No endpoints found that match your max price.");
    }
  }
  return factor;
}

function cacheOf(seller: Seller, body: JsonObject, inputTokens: number) {
  const options = body["prompt_cache_options"];
  if (seller === "openai") {
    const long = isObject(options) && options["ttl"] === "12h";
    return { written: inputTokens, writeRate: (long ? [5n, 2n] : [5n, 4n]) as Factor, hasLongWrites: long };
  }
  const marks = JSON.stringify([body["messages"], body["input"], body["cache_control"]]);
  if (!marks.includes('"cache_control"') && !isObject(body["cache_control"])) return undefined;
  const long = marks.includes('"ttl":"1h"');
  return { written: inputTokens, writeRate: (long ? [2n, 1n] : [5n, 4n]) as Factor, hasLongWrites: long };
}

/**
 * npm @ai-sdk/gateway 4.0.146, `providerOptions`: `gateway` steers among providers and models and has no limit of the price, and
 * each provider has options of its own.
 */
function gatewayOptions({ providerOptions: all, speed }: JsonObject) {
  const owners = isObject(all) ? Object.values(all).filter(isObject) : [];
  const steering = isObject(all) && isObject(all["gateway"]) ? all["gateway"] : {};
  const { only, order, models, sort } = steering;
  const names = [only, order, models].flatMap((list) => (Array.isArray(list) ? list : []));
  const isDear = sort === "tps" || sort === "ttft" || names.some((name) => String(name) in HOSTS);
  return {
    tier: owners.map(({ serviceTier }) => serviceTier).find((each) => each !== undefined),
    isFast: speed === "fast" || owners.some((owner) => owner["speed"] === "fast"),
    host: isDear ? DEAR_HOST : ONE,
  };
}

function besideTokens(seller: Seller, { prediction, reasoning }: JsonObject): number {
  const rejected = isObject(prediction) ? Buffer.byteLength(String(prediction["content"] ?? "")) : 0;
  const budget = seller !== "openai" && isObject(reasoning) ? Number(reasoning["max_tokens"] ?? 0) : 0;
  return Math.ceil(rejected / BYTES_PER_TOKEN) + budget;
}

function openAiItems({ tools, max_tool_calls: most }: JsonObject, calls: number): ToolItem[] {
  if (!Array.isArray(tools)) return [];
  const all = tools.flatMap((tool: unknown) => {
    const { type = "", container } = isObject(tool) ? tool : {};
    const fee = OPENAI_FEES.find(([name]) => String(type).startsWith(name));
    const units = Array.from({ length: calls });
    if (fee !== undefined) return units.map((): ToolItem => ({ type: fee[1], fee: fee[2] }));
    if (type !== "code_interpreter") return [];
    const memory = isObject(container) ? String(container["memory_limit"] ?? "1g") : "64g";
    // All calls of a request share its container.
    const session = CONTAINER * (MEMORY[memory] ?? 1n);
    return units.map(
      (_, index): ToolItem => ({ type: "code_interpreter_call", fee: index === 0 ? session : 0n }),
    );
  });
  return all.slice(0, typeof most === "number" ? most : all.length);
}

/** Models of chat completions that search run one search for each answer. */
function searchFee({ web_search_options: options, n }: JsonObject): PicoUsd {
  return options == null ? 0n : (CENT * 5n * BigInt(Number(n ?? 1))) / 2n;
}

function routerFees(body: JsonObject, calls: number): PicoUsd {
  const { tools, plugins, stop_server_tools_when: conditions } = body;
  const runs =
    Array.isArray(tools) && tools.some((tool) => isObject(tool) && /search/.test(String(tool["type"])));
  let fee = body["web_search_options"] == null ? 0n : DEEP_SEARCH;
  for (const plugin of Array.isArray(plugins) ? plugins : []) {
    if (isObject(plugin) && plugin["id"] === "web")
      fee += DEEP_SEARCH + (CENT / 10n) * BigInt(Number(plugin["max_results"] ?? 5));
    if (isObject(plugin) && plugin["id"] === "fusion") fee += 100n * CENT;
  }
  if (!runs) return fee;
  const limit = (Array.isArray(conditions) ? conditions : []).find(
    (each) => isObject(each) && each["type"] === "max_cost",
  );
  const most = isObject(limit) ? picoOf(limit["max_cost_in_dollars"]) : undefined;
  for (let step = 0; step < Math.min(calls, MOST_STEPS); step += 1) {
    if (most !== undefined && fee > most) break;
    fee += DEEP_SEARCH;
  }
  return fee;
}

/** USD in JSON, number or text, exactly. */
function picoOf(usd: unknown): PicoUsd {
  const [whole = "0", parts = ""] = Number(usd).toFixed(12).split(".");
  return BigInt(whole + parts);
}

function callsAsked(text: string): number {
  const at = text.lastIndexOf(CALLS);
  return at < 0 ? 0 : Number(/^\d{1,3}/.exec(text.slice(at + CALLS.length))?.[0] ?? 0);
}

function product(...factors: readonly Factor[]): Factor {
  return factors.reduce(([above, below], [num, den]) => [above * num, below * den], ONE);
}
