// Mutants of prices, of bounds and of meters: each of them would cost the operator or a customer money.
// No history plays them, because its prices are sums of a few numbers. Each names the test that notices.
import type { Mutant } from "./mutant.ts";

const CASES = "packages/models/src/price-cases.ts";
const CASES_TEST = { test: "packages/models/src/price-cases.test.ts" } as const;
const OFF_PEAK = "packages/models/src/off-peak.ts";
const OFF_PEAK_TEST = { test: "packages/models/src/off-peak.test.ts" } as const;
const RATES = "packages/models/src/meter-rates.ts";
const LINES = "packages/models/src/price-lines.ts";
const PRICE = "packages/models/src/price.ts";
const PRICE_TEST = { test: "packages/models/src/price.test.ts" } as const;
const TOKENS = "packages/models/src/token-price.ts";
const TOKENS_TEST = { test: "packages/models/src/token-price.test.ts" } as const;
const TERMS = "packages/text-upstream/src/price-fields/price-terms.ts";
const FIND = "packages/text-upstream/src/price-fields/find-fields.ts";
const TERMS_TEST = { test: "packages/text-upstream/src/price-fields/price-terms.test.ts" } as const;
const CALLS = "packages/text-upstream/src/tool-calls.ts";
const CALLS_TEST = { test: "packages/text-upstream/src/tool-calls.test.ts" } as const;
const GATEWAY_BILL = "packages/text-upstream/src/gateway-bill.ts";
const EFFECTS = "services/text-proxy/src/request/price-effects.ts";
const ROUTES_TEST = { test: "services/text-proxy/src/priced-routes.test.ts" } as const;
const BOUNDS = "services/text-proxy/src/request/price-bounds.ts";
const BOUNDS_TEST = { test: "services/text-proxy/src/request/price-bounds.test.ts" } as const;
const METER = "services/text-proxy/src/stream/stream-meter.ts";
const METER_TEST = { test: "services/text-proxy/src/stream/stream-meter.test.ts" } as const;
const TEXT_BOUND = "services/text-proxy/src/request/text-bound.ts";
const TEXT_BOUND_TEST = { test: "services/text-proxy/src/request/text-bound.test.ts" } as const;
const CHARGED = "services/text-proxy/src/cost/charged-meters.ts";
const CHARGED_TEST = { test: "services/text-proxy/src/cost/charged-meters.test.ts" } as const;
const USAGE = "services/text-proxy/src/upstream/usage.ts";
const USAGE_TEST = { test: "services/text-proxy/src/upstream/usage.test.ts" } as const;

export const MUTANTS_OF_PRICES: readonly Mutant[] = [
  // Rates of tiers and of long inputs.
  {
    file: CASES,
    find: "inputTokens > each.aboveInputTokens);",
    replace: "inputTokens > each.aboveInputTokens * 2n);",
    what: "an input that is a little too long is billed as a short one",
    caught: CASES_TEST,
  },
  {
    file: CASES,
    find: 'if (word === "fast") return "priority";',
    replace: "",
    what: "the tier that is called fast is billed as the standard tier",
    caught: CASES_TEST,
  },
  {
    file: CASES,
    find: "return own !== undefined && own.aboveInputTokens >= (step?.aboveInputTokens ?? 0n) ? own.price : undefined;",
    replace: "return own?.price;",
    what: "a long input in a dear tier is billed as a short one",
    caught: CASES_TEST,
  },
  {
    file: CASES,
    find: "each.aboveInputTokens < inputTokens)",
    replace: "each.aboveInputTokens === 0n)",
    what: "a hold leaves the price of a long input out",
    caught: CASES_TEST,
  },
  {
    file: CASES,
    find: 'const tiers = new Set(["", tier]);',
    replace: 'const tiers = new Set([""]);',
    what: "a hold leaves the price of the asked tier out",
    caught: CASES_TEST,
  },
  // Off-peak rates.
  {
    file: CASES,
    find: "step?.price ?? offPeakRates(price, createdAt) ?? price;",
    replace: "offPeakRates(price, createdAt) ?? step?.price ?? price;",
    what: "a long input is billed at off-peak rates",
    caught: OFF_PEAK_TEST,
  },
  {
    file: CASES,
    find: "...price.offPeak.flatMap((each) => each.price ?? []), ",
    replace: "",
    what: "a hold leaves off-peak rates out, which can be the dearer ones",
    caught: OFF_PEAK_TEST,
  },
  {
    file: OFF_PEAK,
    find: "[createdAt - MARGIN_MS, createdAt, createdAt + MARGIN_MS]",
    replace: "[createdAt]",
    what: "an answer at the edge of off-peak hours is charged below its bill",
    caught: OFF_PEAK_TEST,
  },
  {
    file: OFF_PEAK,
    find: "time.getUTCDay() || DAYS;",
    replace: "time.getUTCDay() + 1;",
    what: "the weekend of off-peak rates begins on Friday",
    caught: OFF_PEAK_TEST,
  },
  // The lines of a price.
  {
    file: RATES,
    find: "longCacheWrite: price.longCacheWritePicoUsd ?? cacheWrite,",
    replace: "longCacheWrite: cacheWrite,",
    what: "cache writes of an hour are billed as those of five minutes",
    caught: CASES_TEST,
  },
  {
    file: LINES,
    find: "picoUsd: rates.reasoning },",
    replace: "picoUsd: 0n },",
    what: "thoughts are free",
    caught: PRICE_TEST,
  },
  {
    file: LINES,
    find: "count: count(toolCalls[call] ?? 0),",
    replace: "count: count(toolCalls[call] === undefined ? 0 : 1),",
    what: "several calls of a tool cost as much as one",
    caught: CASES_TEST,
  },
  {
    file: LINES,
    find: "const further = (ceilDiv(pixels, price.unitPixels) - 1n) * images;",
    replace: "const further = (pixels / price.unitPixels - 1n) * images;",
    what: "an area that is begun is not billed",
    caught: PRICE_TEST,
  },
  {
    file: LINES,
    find: "const counted = units * (inputs?.once === true ? 1n : images);",
    replace: "const counted = units;",
    what: "input images cost once, however many images are made of them",
    caught: PRICE_TEST,
  },
  {
    file: PRICE,
    find: "  return each * count(images) + tokens.requestPicoUsd * count(images);",
    replace: "  return each + tokens.requestPicoUsd * count(images);",
    what: "the hold of several metered images covers one",
    caught: PRICE_TEST,
  },
  {
    file: PRICE,
    find: "return used >= 0n && used < most ? used : most;",
    replace: "return used >= 0n ? used : most;",
    what: "a provider's report is charged above what was held for it",
    caught: PRICE_TEST,
  },
  {
    file: PRICE,
    find: "tier.outputTokens * count(seconds) +",
    replace: "tier.outputTokens +",
    what: "the hold of a metered video covers its first second",
    caught: PRICE_TEST,
  },
  {
    file: PRICE,
    find: "price.partialImageTokens * count(partialImages)",
    replace: "price.partialImageTokens",
    what: "the hold of a stream covers one partial image",
    caught: PRICE_TEST,
  },
  // Several upstreams.
  {
    file: TOKENS,
    find: "inputPicoUsd: larger(rates.input, others.input),",
    replace: "inputPicoUsd: rates.input,",
    what: "a hold covers the first upstream, and not the dearest",
    caught: TOKENS_TEST,
  },
  {
    file: TOKENS,
    find: "return { [field]: larger(rates[name], others[name]) };",
    replace: "return { [field]: one[field] ?? other[field] };",
    what: "a hold takes the price of cached tokens of one upstream for all",
    caught: TOKENS_TEST,
  },
  {
    file: TOKENS,
    find: "if (fee.picoUsd > (fees.get(fee.call)?.picoUsd ?? -1n)) fees.set(fee.call, fee);",
    replace: "",
    what: "a hold leaves the tool fees of further upstreams out",
    caught: CASES_TEST,
  },
  // Fields that decide the price.
  {
    file: TERMS,
    find: "if (billed && !isPriced(by, found, prices)) return { refused: unpriced(by, found) };",
    replace: "",
    what: "an effect without a price is sent",
    caught: TERMS_TEST,
  },
  {
    file: TERMS,
    find: "if (billed) return { refused: { param: found.param, problem: treatment.remedy } };",
    replace: "",
    what: "a field that nobody can price is sent",
    caught: TERMS_TEST,
  },
  {
    file: TERMS,
    find: "if (!mayPass(found, kind, billed, passUnknownFields)) return { refused: unknown(found) };",
    replace: "",
    what: "an unknown field is sent where our list computes the cost",
    caught: TERMS_TEST,
  },
  {
    file: TERMS,
    find: 'bounds = new Set(["standard_tier"]);',
    replace: "bounds = new Set();",
    what: "a project's own tier is billed to us, and nobody asked for it",
    caught: TERMS_TEST,
  },
  {
    file: TERMS,
    find: 'if (tier !== "" && tier !== asked && billed) return { refused: twoTiers(found, tier) };',
    replace: "",
    what: "of two tiers in one request only the last is held for",
    caught: TERMS_TEST,
  },
  {
    file: FIND,
    find: 'if (type === "namespace") each(',
    replace: 'if (type === "none") each(',
    what: "tools in a namespace have no fee",
    caught: TERMS_TEST,
  },
  {
    file: FIND,
    find: 'const few = typeof results === "number" && results <= MOST_PLUGIN_RESULTS;',
    replace: "const few = true;",
    what: "a search may have any number of results for the fee of one",
    caught: TERMS_TEST,
  },
  {
    file: FIND,
    find: 'if (part["type"] === "input_audio") found.add("input_audio", placeOf(path), "");',
    replace: "",
    what: "sound in the input is sent to a model without a price for it",
    caught: TERMS_TEST,
  },
  {
    file: FIND,
    find: 'if (name === "serviceTier" || name === "speed")',
    replace: 'if (name === "speed")',
    what: "the tier that a gateway's options ask for is not seen",
    caught: TERMS_TEST,
  },
  {
    file: FIND,
    find: 'else if (owner === "gateway" && GATEWAY_OPTIONS.has(name))',
    replace: "else if (false as boolean)",
    what: "a client steers a gateway to hosts whose price nobody bounds",
    caught: { test: "test/prices/text-fields.test.ts", name: "vercel" },
  },
  {
    file: CALLS,
    find: "containers.add(container);",
    replace: "",
    what: "each call in a container pays for the container again",
    caught: CALLS_TEST,
  },
  {
    file: CALLS,
    find: "counted == null ? calls : { ...calls, [COUNTED.call]: counted }",
    replace: "calls",
    what: "searches that a usage counts are free",
    caught: CALLS_TEST,
  },
  {
    file: GATEWAY_BILL,
    find: 'amount("cost_details", "upstream_inference_cost") ?? 0n',
    replace: "0n",
    what: "with a key of our own only the gateway's fee is booked",
    caught: USAGE_TEST,
  },
  {
    file: EFFECTS,
    find: "most = larger(most, fee * BigInt(calls));",
    replace: "",
    what: "a hold leaves the fees of many tool calls out",
    caught: { test: "test/prices/text-fields.test.ts", name: "openai: no" },
  },
  {
    file: EFFECTS,
    find: "return { routes: routes.filter(({ provider }) => priceTerms.has(provider)), priceTerms };",
    replace: "return { routes, priceTerms };",
    what: "an upstream is asked that has no price for a field of the request",
    caught: ROUTES_TEST,
  },
  // Bounds in the body for the upstream.
  {
    file: BOUNDS,
    find: "(limit === undefined || asked < limit)",
    replace: "asked > 0n",
    what: "a client raises the price limit that bounds our hold",
    caught: BOUNDS_TEST,
  },
  {
    file: BOUNDS,
    find: "const most = larger(held * PICO_PER_CREDIT - DEAREST_STEP, 0n);",
    replace: "const most = held * PICO_PER_CREDIT;",
    what: "the last step of an upstream's tools is above the hold",
    caught: BOUNDS_TEST,
  },
  {
    file: BOUNDS,
    find: "prompt: price.inputPicoUsd * MILLION,",
    replace: "prompt: price.inputPicoUsd * MILLION * 2n,",
    what: "the price limit that goes upstream is twice the held price",
    caught: BOUNDS_TEST,
  },
  {
    file: BOUNDS,
    find: "String(callsAllowed(fee))));",
    replace: "String(callsAllowed(fee) * 2)));",
    what: "an upstream may run twice as many tool calls as are held for",
    caught: BOUNDS_TEST,
  },
  // The meter of streams, and the bound of bodies that still arrive.
  {
    file: METER,
    find: "return Math.max(Math.ceil(this.#textBytes / bytesPerToken), this.#likelyTokens) + this.#soundTokens;",
    replace: "return Math.ceil(this.#textBytes / bytesPerToken) + this.#soundTokens;",
    what: "tokens with probabilities of their own count by their bytes",
    caught: METER_TEST,
  },
  {
    file: METER,
    find: "- sumOf(thoughts) + Math.max(...thoughts);",
    replace: "- sumOf(thoughts);",
    what: "the thoughts in a stream are not metered",
    caught: METER_TEST,
  },
  {
    file: METER,
    find: 'if (typeof data === "string") this.#addSound(data);',
    replace: "",
    what: "sound in a stream is not metered",
    caught: METER_TEST,
  },
  {
    file: TEXT_BOUND,
    find: "while (this.#nextQuestion <= textBytes) this.#nextQuestion *= GROWTH;",
    replace: "this.#nextQuestion = Number.MAX_SAFE_INTEGER;",
    what: "a sender without credit is asked for money once, however long the body is",
    caught: TEXT_BOUND_TEST,
  },
  {
    file: TEXT_BOUND,
    find: "await this.#canPay(least);",
    replace: "",
    what: "a body arrives to its end, although its sender cannot pay for it",
    caught: TEXT_BOUND_TEST,
  },
  // Charges by a report.
  {
    file: CHARGED,
    find: "(meters.tier ?? terms.tier)",
    replace: "terms.tier",
    what: "the tier that was asked for is charged, not the tier of the answer",
    caught: CHARGED_TEST,
  },
  {
    file: CHARGED,
    find: "calls.has(SEARCH) ? Math.max(searches, request.choices) : searches;",
    replace: "searches;",
    what: "searches of a model that does not count them are free",
    caught: CHARGED_TEST,
  },
  {
    file: USAGE,
    find: ": smaller(cost, MOST_COST);",
    replace: ": cost;",
    what: "a bill is booked that no sum can hold",
    caught: USAGE_TEST,
  },
  {
    file: USAGE,
    find: "outputTokens: apart ? outputTokens + reasoningTokens : outputTokens,",
    replace: "outputTokens,",
    what: "thoughts that are counted beside the output are free",
    caught: USAGE_TEST,
  },
];
