// The max-cost header limits the price of a request: a higher bound is refused before any hold or call of a provider.
// A quote answers with the same bound.
import type { IncomingHttpHeaders } from "node:http";
import { type Credits, formatCredits, limitOfUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { z } from "zod";

export const MAX_COST_HEADER = "x-max-cost";
const DECIMAL = /^\d{1,12}(\.\d{1,12})?$/;

/** @returns undefined when the client has named none. @throws ServiceError invalid_value */
export function maxCostOf(headers: IncomingHttpHeaders): Credits | undefined {
  const value = headers[MAX_COST_HEADER];
  if (value === undefined) return undefined;
  const most = typeof value === "string" && DECIMAL.test(value) ? limitOfUsd(value) : undefined;
  if (most !== undefined) return most;
  const message = `The ${MAX_COST_HEADER} header must be an amount of USD, for example 0.05.`;
  throw new ServiceError("invalid_value", message, { param: MAX_COST_HEADER });
}

/** @param bound upper bound of the request's cost. @throws ServiceError max_cost_exceeded */
export function requireWithin(bound: Credits, most: Credits | undefined): void {
  if (most === undefined || bound <= most) return;
  const message =
    `The request may cost up to ${formatCredits(bound)} USD, more than the ${formatCredits(most)} USD of its ` +
    `${MAX_COST_HEADER} header. Nothing was sent or charged.`;
  throw new ServiceError("max_cost_exceeded", message, { param: MAX_COST_HEADER });
}

/** Names by which other APIs limit the cost of a request in its body. */
const AMOUNT_NAMES = ["max_budget", "budget", "credit_limit", "max_cost"] as const;

/**
 * Refuses a body that limits its cost by a field of another API, because an ignored limit is no limit.
 * @param body members of the body's top level; null counts as absent
 * @throws ServiceError invalid_value
 */
export function refuseAmountNames(body: object): void {
  const members = body as Readonly<Record<string, unknown>>;
  const name = AMOUNT_NAMES.find((field) => members[field] !== undefined && members[field] !== null);
  if (name === undefined) return;
  const message = `The field "${name}" limits nothing here. The ${MAX_COST_HEADER} header limits the cost of a request, in USD.`;
  throw new ServiceError("invalid_value", message, { param: name });
}

/** Returns the refusal of a hold that would grow above the client's limit. */
export function tooDear(most: Credits): ServiceError {
  const message = `The request costs more than the ${formatCredits(most)} USD of its ${MAX_COST_HEADER} header.`;
  return new ServiceError("max_cost_exceeded", message, { param: MAX_COST_HEADER });
}

export const quoteSchema = z.object({
  object: z.literal("quote"),
  model: z.string(),
  cost: z.number().describe("Cost of the request in USD; unless is_exact, its highest possible cost"),
  is_exact: z.boolean(),
  price_version: z.string().describe("Version of the price; a charge at the same price has the same version"),
});

export interface Quoted {
  readonly model: string;
  readonly credits: Credits;
  readonly isExact: boolean;
  readonly priceVersion: string;
}

export function quoteRecord({ model, credits, isExact, priceVersion }: Quoted): z.infer<typeof quoteSchema> {
  // At most 15 digits, which a double prints as they are.
  return {
    object: "quote",
    model,
    cost: Number(formatCredits(credits)),
    is_exact: isExact,
    price_version: priceVersion,
  };
}
