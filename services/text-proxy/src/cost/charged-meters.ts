// What is charged of a usage: the reported meters in the terms of the price list. A tier that the answer does not name is the one
// that was asked for, and fees have the names that the price list has for the tools of the request.
import { type RateTerms, type TokenMeters, tierOf } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import type { PriceTerms } from "@gr/text-upstream";
import type { TextOrder } from "../request/text-order.ts";
import { costOf, type Usage } from "../upstream/usage.ts";

type AskedOrder = Pick<TextOrder, "asked" | "priceTerms" | "price" | "request" | "size">;

const FAST_MODE = "fast_mode";
const SEARCH = "web_search_call";
const PREVIEW = "web_search_preview_call";

/** The effects of the request's fields at the upstream that is asked. */
export function termsAsked({
  asked = "",
  priceTerms,
}: Pick<TextOrder, "asked" | "priceTerms">): PriceTerms | undefined {
  return priceTerms?.get(asked);
}

/** The rates that the running attempt can have. @param inputTokens as reported; absent = as bounded */
export function ratesAsked(order: AskedOrder, inputTokens = order.size.inputTokens): RateTerms {
  return { tier: tierOf(termsAsked(order)?.tier ?? ""), inputTokens };
}

export function chargedMeters(order: AskedOrder, meters: TokenMeters): TokenMeters {
  const terms = termsAsked(order);
  if (terms === undefined || (terms.tier === "" && terms.calls.size === 0)) return meters;
  // The tier of an answer does not tell whether a fast mode served it.
  const tier = terms.tier === FAST_MODE ? FAST_MODE : (meters.tier ?? terms.tier);
  return {
    ...meters,
    ...(tier === "" ? {} : { tier }),
    toolCalls: callsOf(order, terms, meters.toolCalls ?? {}),
  };
}

function callsOf({ request }: AskedOrder, { calls }: PriceTerms, counted: Readonly<Record<string, number>>) {
  const { [SEARCH]: searches = 0, ...others } = counted;
  // Chat completions do not count searches: a model that searches does so once for each answer.
  const known = request.api === "chat" && calls.has(SEARCH) ? Math.max(searches, request.choices) : searches;
  if (known === 0) return counted;
  return { ...others, [calls.has(PREVIEW) ? PREVIEW : SEARCH]: known };
}

/** The true cost: as reported, else what the meters cost. */
export function costIn(order: AskedOrder, usage: Usage): PicoUsd {
  return costOf({ ...usage, meters: chargedMeters(order, usage.meters) }, order.price);
}
