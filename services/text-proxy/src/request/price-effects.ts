// PriceEffects are the effects of a request's fields on its price at the upstreams of a model. An upstream without a
// price for one of them is skipped. A request without any priced upstream is refused before anything is held or sent.
import { type RateTerms, ratesAt, tierOf, tokenPriceAt } from "@gr/models";
import { larger, type PicoUsd } from "@gr/money";
import type { Route } from "@gr/paid-request";
import type { TokenPrice } from "@gr/proto/catalog";
import {
  type FieldRefusal,
  type FieldsAt,
  type PricedEffects,
  type PriceTerms,
  priceTermsOf,
} from "@gr/text-upstream";
import { badField } from "./bad-field.ts";
import { EXTRAS_COST } from "./hold-size.ts";
import type { TextRequest } from "./text-request.ts";

export interface PricedRoutes {
  readonly routes: readonly Route[];
  /** Effects on the price, by upstream. */
  readonly priceTerms: ReadonlyMap<string, PriceTerms>;
}

/** @param inputTokens at most. @throws ServiceError invalid_value when each upstream refuses a field of the request */
export function pricedRoutes(
  { fields }: TextRequest,
  price: TokenPrice,
  inputTokens: bigint,
  routes: readonly Route[],
  upstreams: ReadonlyMap<string, FieldsAt>,
): PricedRoutes {
  const priceTerms = new Map<string, PriceTerms>();
  let refusal: FieldRefusal | undefined;
  for (const { provider } of routes) {
    const upstream = upstreams.get(provider);
    if (upstream === undefined || priceTerms.has(provider)) continue;
    const there = tokenPriceAt(price, provider);
    const { kind, billed, passUnknownFields } = upstream;
    const at = { kind, billed: billed && (kind.reportsCost || !isFree(there)), passUnknownFields };
    const terms = priceTermsOf(fields, at, new PricesAt(there, inputTokens));
    if ("refused" in terms) refusal ??= terms.refused;
    else priceTerms.set(provider, terms);
  }
  if (priceTerms.size === 0 && refusal !== undefined) throw badField(refusal.param, refusal.problem);
  return { routes: routes.filter(({ provider }) => priceTerms.has(provider)), priceTerms };
}

/** Returns the rates that can apply under the terms of any upstream. */
export function rateTermsOf({ priceTerms }: PricedRoutes, inputTokens: bigint): RateTerms {
  for (const terms of priceTerms.values()) {
    const tier = tierOf(terms.tier);
    if (tier !== "") return { tier, inputTokens };
  }
  return { tier: "", inputTokens };
}

/** Returns the largest fees of the providers' tools, at the most expensive upstream. */
export function extrasCostOf(request: TextRequest, price: TokenPrice, { priceTerms }: PricedRoutes): PicoUsd {
  let most = EXTRAS_COST;
  for (const [provider, terms] of priceTerms) {
    if (terms.calls.size === 0) continue;
    const fee = dearestFee(tokenPriceAt(price, provider), terms);
    const calls = request.toolCallLimit ?? (request.api === "chat" ? request.choices : callsAllowed(fee));
    most = larger(most, fee * BigInt(calls));
  }
  return most;
}

/** Returns the number of tool calls that the usual amount for extras covers. */
export function callsAllowed(fee: PicoUsd): number {
  return fee === 0n ? 0 : Math.max(1, Number(EXTRAS_COST / fee));
}

export function dearestFee({ toolFees }: TokenPrice, { calls }: PriceTerms): PicoUsd {
  return toolFees.reduce((most, { call, picoUsd }) => (calls.has(call) ? larger(most, picoUsd) : most), 0n);
}

class PricesAt implements PricedEffects {
  readonly #price: TokenPrice;
  readonly #inputTokens: bigint;

  constructor(price: TokenPrice, inputTokens: bigint) {
    this.#price = price;
    this.#inputTokens = inputTokens;
  }

  hasTier(tier: string): boolean {
    return ratesAt(this.#price, { tier: tierOf(tier), inputTokens: this.#inputTokens }) !== undefined;
  }

  hasTool(name: string): boolean {
    return this.#price.toolFees.some(({ call }) => call === name);
  }

  hasMeter(meter: Parameters<PricedEffects["hasMeter"]>[0]): boolean {
    return this.#price[METERS[meter]] !== undefined;
  }
}

const METERS = {
  long_cache_write: "longCacheWritePicoUsd",
  audio_input: "audioInputPicoUsd",
  audio_output: "audioOutputPicoUsd",
  image_output: "imageOutputPicoUsd",
} as const satisfies Record<Parameters<PricedEffects["hasMeter"]>[0], keyof TokenPrice>;

function isFree({ inputPicoUsd, outputPicoUsd, requestPicoUsd }: TokenPrice): boolean {
  return inputPicoUsd + outputPicoUsd + requestPicoUsd === 0n;
}
