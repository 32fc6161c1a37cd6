// The public catalogue, as the pages look at it.
import { queryOptions } from "@tanstack/react-query";
import { listModels, type ModelRecord } from "./api/public-api.ts";
import { shortDecimal } from "./parts/figures/figure-text.ts";
import { perMillion } from "./parts/figures/per-million.ts";

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => listModels(signal),
  staleTime: 60_000,
});

/** Returns a price for people. Decimals are moved as text: a price never becomes a number. */
export function priceText({ type, pricing }: ModelRecord): string {
  if (type === "text") {
    const input = perMillion(pricing["input"]);
    const output = perMillion(pricing["output"]);
    if (input === undefined || output === undefined) return "see its page";
    return isZero(input) && isZero(output) ? "free" : `$${input} in, $${output} out per million tokens`;
  }
  const usual = pricing.default_request;
  if (usual === undefined) return "see its page";
  return isZero(usual) ? "free" : `$${shortDecimal(usual)} ${type === "video" ? "per video" : "per image"}`;
}

const isZero = (decimal: string) => !/[1-9]/.test(decimal);
