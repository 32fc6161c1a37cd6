// True cost of a generation for us: the provider's bill if reported, else the route's cost price and the reported
// usage, else the customer's price. It never throws: a provider's invalid report must not block a settlement.
import { type ImageMeters, priceOf, priceOfTokens, priceOfUse, type VideoMeters } from "@gr/models";
import { type Credits, chargeOf, type PicoUsd } from "@gr/money";
import type { Price } from "@gr/proto/catalog";
import type { ReportedUsage } from "../providers/provider.ts";

/** Largest cost that a 64-bit column holds. */
const LIMIT: PicoUsd = 2n ** 63n - 1n;

export interface Costing {
  /** Cost price of the provider in the catalogue; absent = the list price. */
  readonly costPrice: Price | undefined;
  readonly listPrice: PicoUsd;
  readonly meters: ImageMeters | VideoMeters;
}

export function trueCost(usage: ReportedUsage | undefined, costing: Costing): PicoUsd {
  const cost = usage?.billed ?? priced(usage, costing) ?? costing.listPrice;
  return cost >= 0n && cost <= LIMIT ? cost : costing.listPrice;
}

function priced(usage: ReportedUsage | undefined, costing: Costing): PicoUsd | undefined {
  const { costPrice, meters } = costing;
  if (costPrice === undefined) return undefined;
  if (costPrice.rule.case !== "token") {
    const most = priceOf({ price: costPrice }, meters)?.most;
    return most === undefined ? undefined : priceOfUse(costPrice, most, usage);
  }
  return usage?.tokens === undefined ? undefined : priceOfTokens(costPrice.rule.value, usage.tokens);
}

/**
 * Returns the charge for the delivered parts. A price by use charges their usage, rounded up once and at most the
 * hold. The rule of an expired price version is not available here, so its charge is the whole hold of those parts.
 * @param most hold of all parts together
 */
export function chargeByUse(
  price: Price | undefined,
  order: { readonly priceVersion: string },
  most: PicoUsd,
  parts: readonly { readonly most: PicoUsd; readonly usage: ReportedUsage | undefined }[],
): Credits {
  if (price === undefined || price.version !== order.priceVersion) return chargeOf(most);
  let used = 0n;
  for (const part of parts) used += priceOfUse(price, part.most, part.usage);
  return chargeOf(used < most ? used : most);
}
