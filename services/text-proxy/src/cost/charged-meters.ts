// Charged meters are the reported usage in the terms of the price list. Without a tier in the answer, the requested
// tier applies. Fees have the price list's names of the request's tools.
import { type RateTerms, type TokenMeters, tierOf } from "@gr/models";
import type { PicoUsd } from "@gr/money";
import type { PriceTerms } from "@gr/text-upstream";
import type { TextOrder } from "../request/text-order.ts";
import { costOf, type Usage } from "../upstream/usage.ts";

type AskedOrder = Pick<TextOrder, "asked" | "priceTerms" | "price" | "request" | "size">;

const FAST_MODE = "fast_mode";
const SEARCH = "web_search_call";
const PREVIEW = "web_search_preview_call";

/** Effects of the request's fields at the upstream of the attempt. */
export function termsAsked({
  asked = "",
  priceTerms,
}: Pick<TextOrder, "asked" | "priceTerms">): PriceTerms | undefined {
  return priceTerms?.get(asked);
}

/** The rates that can apply to the running attempt. @param inputTokens as reported; absent = the bound */
export function ratesAsked(order: AskedOrder, inputTokens = order.size.inputTokens): RateTerms {
  return { tier: tierOf(termsAsked(order)?.tier ?? ""), inputTokens };
}

export function chargedMeters(order: AskedOrder, meters: TokenMeters): TokenMeters {
  const terms = termsAsked(order);
  if (terms === undefined || (terms.tier === "" && terms.calls.size === 0)) return meters;
  // The answer's tier does not show whether a fast mode was used.
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

/** Returns the true cost: the reported one, else the meters' price. */
export function costIn(order: AskedOrder, usage: Usage): PicoUsd {
  return costOf({ ...usage, meters: chargedMeters(order, usage.meters) }, order.price);
}
