// TextModel converts text models of listings and of an operator's rows to models of the contract: one model with a
// route to each of its upstreams, and a price with each upstream's rates.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Model,
  ModelKind,
  ModelSchema,
  OffPeakPriceSchema,
  PriceAtUpstreamSchema,
  PriceCaseSchema,
  type TokenPrice,
  TokenPriceSchema,
} from "@gr/proto/catalog";
import type { TextModel, TextPrices, TextRates } from "@gr/text-upstream";
import { versioned } from "../prices/price-version.ts";

/** One route to a text model. */
export interface TextRoute {
  /** Name of the upstream in routes. */
  readonly upstream: string;
  readonly upstreamModel: string;
  readonly prices: TextPrices;
}

/** @param routes the preferred first; its prices are the model's, and each route with other rates has its own */
export function modelOfText(text: TextModel, routes: readonly TextRoute[]): Model {
  const prices = routes[0]?.prices ?? text.prices;
  const usual = versioned({ case: "token", value: tokenPriceOf(prices) }).version;
  const upstreams = routes
    .map((route) => ({ provider: route.upstream, price: tokenPriceOf(route.prices) }))
    .filter(({ price }) => versioned({ case: "token", value: price }).version !== usual)
    .map((there) => create(PriceAtUpstreamSchema, there));
  return create(ModelSchema, {
    id: text.id,
    kind: ModelKind.TEXT,
    name: text.name,
    ownedBy: text.ownedBy,
    capabilities: [...text.capabilities],
    supportedParameters: [...text.supportedParameters],
    contextTokens: BigInt(text.contextTokens ?? 0),
    maxOutputTokens: BigInt(text.maxOutputTokens ?? 0),
    releaseDate: text.releaseDate ?? "",
    shutdownDate: text.shutdownDate ?? "",
    price: versioned({ case: "token", value: { ...tokenPriceOf(prices), upstreams } }),
    routes: routes.map(({ upstream, upstreamModel }) => ({ provider: upstream, upstreamModel })),
  });
}

function tokenPriceOf(prices: TextPrices): TokenPrice {
  const cases = (prices.cases ?? []).map(({ tier, aboveInputTokens, rates }) =>
    create(PriceCaseSchema, {
      tier,
      aboveInputTokens: BigInt(aboveInputTokens),
      price: create(TokenPriceSchema, ratesOf(rates)),
    }),
  );
  const offPeak = (prices.offPeak ?? []).map(({ hours, rates }) =>
    create(OffPeakPriceSchema, {
      hours: hours.map(({ weekdays, ...minutes }) => ({ weekdays: [...weekdays], ...minutes })),
      price: create(TokenPriceSchema, ratesOf(rates)),
    }),
  );
  return create(TokenPriceSchema, { ...ratesOf(prices), cases, offPeak });
}

function ratesOf(prices: TextRates): MessageInitShape<typeof TokenPriceSchema> {
  return {
    inputPicoUsd: prices.input,
    outputPicoUsd: prices.output,
    requestPicoUsd: prices.request,
    ...(prices.cachedInput === null ? {} : { cachedInputPicoUsd: prices.cachedInput }),
    ...(prices.cacheWrite === null ? {} : { cacheWritePicoUsd: prices.cacheWrite }),
    ...(prices.longCacheWrite == null ? {} : { longCacheWritePicoUsd: prices.longCacheWrite }),
    ...(prices.audioInput === null ? {} : { audioInputPicoUsd: prices.audioInput }),
    ...(prices.imageInput === null ? {} : { imageInputPicoUsd: prices.imageInput }),
    ...(prices.reasoning === null ? {} : { reasoningPicoUsd: prices.reasoning }),
    ...(prices.imageOutput === null ? {} : { imageOutputPicoUsd: prices.imageOutput }),
    ...(prices.audioOutput === null ? {} : { audioOutputPicoUsd: prices.audioOutput }),
    toolFees: Object.entries(prices.tools)
      .map(([call, picoUsd]) => ({ call, picoUsd }))
      .toSorted((one, other) => (one.call < other.call ? -1 : 1)),
  };
}

/**
 * Merges the lists of several upstreams. A model of several upstreams promises only the abilities
 * that each of them has, so that none depends on the serving route. Its limits are the largest,
 * because the hold must cover each of them.
 * @param listings by upstream, the preferred first
 */
export function mergedTextModels(listings: readonly (readonly [string, readonly TextModel[]])[]): Model[] {
  const byId = new Map<string, { text: TextModel; routes: TextRoute[] }>();
  for (const [upstream, texts] of listings) {
    for (const text of texts) {
      const route = { upstream, upstreamModel: text.id, prices: text.prices };
      const known = byId.get(text.id);
      if (known === undefined) byId.set(text.id, { text, routes: [route] });
      else {
        known.text = both(known.text, text);
        known.routes.push(route);
      }
    }
  }
  return [...byId.values()].map(({ text, routes }) => modelOfText(text, routes));
}

function both(one: TextModel, other: TextModel): TextModel {
  return {
    ...one,
    capabilities: one.capabilities.filter((each) => other.capabilities.includes(each)),
    supportedParameters: one.supportedParameters.filter((each) => other.supportedParameters.includes(each)),
    contextTokens: larger(one.contextTokens, other.contextTokens),
    maxOutputTokens: larger(one.maxOutputTokens, other.maxOutputTokens),
    shutdownDate: later(one.shutdownDate, other.shutdownDate),
  };
}

/** Null is unknown, and may be larger than all. */
function larger(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : Math.max(one, other);
}

/** Null is never. */
function later(one: string | null, other: string | null): string | null {
  return one === null || other === null ? null : one > other ? one : other;
}
