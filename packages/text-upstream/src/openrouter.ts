// OpenRouter lists prices, reports its bill, and offers look-ups.
import { z } from "zod";
import { generations, reportedCost } from "./gateway-bill.ts";
import {
  dateIn,
  dayOf,
  extraPrice,
  nameOf,
  priceOf,
  rowId,
  rowName,
  rowTokens,
  rowWords,
  unixSeconds,
  vendorOf,
} from "./listed-row.ts";
import type { TextModel, TextPriceCase, TextRates } from "./text-model.ts";
import { toolCalls } from "./tool-calls.ts";
import type { SkipReason, UpstreamKind } from "./upstream-kind.ts";

export const openRouter: UpstreamKind = {
  name: "openrouter",
  publicAddress: "https://openrouter.ai/api/v1",
  prices: "listed",
  listing: { prices: "listed", readRow },
  limitFields: { chat: "max_tokens", responses: "max_output_tokens" },
  reportsCost: true,
  reportedCost,
  toolCalls,
  generations,
};

const listedRow = z.object({
  id: rowId,
  name: rowName,
  created: unixSeconds,
  context_length: rowTokens,
  architecture: z.object({ input_modalities: rowWords, output_modalities: z.array(z.string()) }),
  pricing: z.record(z.string(), z.unknown()),
  top_provider: z
    .object({ context_length: rowTokens, max_completion_tokens: rowTokens })
    .nullish()
    .catch(undefined),
  supported_parameters: rowWords,
  expiration_date: z.string().nullish().catch(undefined),
});

function readRow(row: unknown): TextModel | SkipReason {
  const result = listedRow.safeParse(row);
  if (!result.success) return "malformed";
  const { id, architecture, pricing, top_provider: provider, supported_parameters: parameters } = result.data;
  // A model that also creates images or audio costs more than its text tokens.
  if (!isTextOnly(architecture.output_modalities)) return "not_text";
  const input = priceOf(pricing["prompt"]);
  const output = priceOf(pricing["completion"]);
  const request = pricing["request"] == null ? 0n : priceOf(pricing["request"]);
  if (input === undefined || output === undefined || request === undefined) return "no_price";
  // Free tokens with a price for something else: the rule would state that every request is free.
  if (input + output === 0n && Object.values(pricing).some((each) => extraPrice(each) !== null))
    return "no_price";
  const search = extraPrice(pricing["web_search"]);
  const kept = extraPrice(pricing["input_cache_write_1h"]);
  const extras = {
    cachedInput: extraPrice(pricing["input_cache_read"]),
    cacheWrite: extraPrice(pricing["input_cache_write"]),
    ...(kept === null ? {} : { longCacheWrite: kept }),
    audioInput: extraPrice(pricing["audio"]),
    reasoning: extraPrice(pricing["internal_reasoning"]),
    // The listing has a price for each picture, and none for its tokens.
    imageInput: null,
    imageOutput: null,
    audioOutput: null,
    tools: search === null ? {} : { web_search_call: search },
  };
  const inputs = architecture.input_modalities;
  return {
    id,
    name: nameOf(result.data.name, id),
    ownedBy: vendorOf(id),
    capabilities: [
      "chat",
      ...(inputs.includes("image") ? ["vision"] : []),
      ...(inputs.includes("audio") ? ["audio-input"] : []),
      ...(inputs.includes("file") ? ["file-input"] : []),
      ...(parameters.includes("tools") ? ["tools"] : []),
      ...(parameters.includes("reasoning") ? ["reasoning"] : []),
    ],
    supportedParameters: parameters,
    contextTokens: result.data.context_length ?? provider?.context_length ?? null,
    maxOutputTokens: provider?.max_completion_tokens ?? null,
    releaseDate: dayOf(result.data.created),
    shutdownDate: dateIn(result.data.expiration_date),
    prices: {
      input,
      output,
      request,
      ...extras,
      ...casesOf(pricing["overrides"], { input, output, request, ...extras }),
    },
  };
}

const override = z.object({ min_prompt_tokens: z.int().positive() }).loose();

/**
 * Reads the prices of long prompts. Prices by hour of the day are ignored: the usual price is held, and the reported
 * cost is charged.
 */
function casesOf(overrides: unknown, usual: TextRates): { readonly cases?: readonly TextPriceCase[] } {
  const cases = (Array.isArray(overrides) ? overrides : []).flatMap((each: unknown): TextPriceCase[] => {
    const read = override.safeParse(each);
    if (!read.success) return [];
    const own = read.data;
    const rates = {
      ...usual,
      input: priceOf(own["prompt"]) ?? usual.input,
      output: priceOf(own["completion"]) ?? usual.output,
      cachedInput: extraPrice(own["input_cache_read"]) ?? usual.cachedInput,
      cacheWrite: extraPrice(own["input_cache_write"]) ?? usual.cacheWrite,
    };
    // The listing names the first length that costs more.
    return [{ tier: "", aboveInputTokens: own.min_prompt_tokens - 1, rates }];
  });
  return cases.length === 0 ? {} : { cases };
}

function isTextOnly(modalities: readonly string[]): boolean {
  return modalities.length > 0 && modalities.every((modality) => modality === "text");
}
