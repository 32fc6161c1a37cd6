// Vercel's AI Gateway lists prices, reports its bill, and offers look-ups.
import { z } from "zod";
import { generations, reportedCost } from "./gateway-bill.ts";
import {
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
import type { TextModel } from "./text-model.ts";
import { toolCalls } from "./tool-calls.ts";
import type { SkipReason, UpstreamKind } from "./upstream-kind.ts";

export const vercel: UpstreamKind = {
  name: "vercel",
  publicAddress: "https://ai-gateway.vercel.sh/v1",
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
  type: z.string(),
  owned_by: rowName,
  released: unixSeconds,
  context_window: rowTokens,
  max_tokens: rowTokens,
  tags: rowWords,
  pricing: z.record(z.string(), z.unknown()).nullish(),
});

function readRow(row: unknown): TextModel | SkipReason {
  const result = listedRow.safeParse(row);
  if (!result.success) return "malformed";
  const { id, tags } = result.data;
  if (result.data.type !== "language" || tags.includes("image-generation")) return "not_text";
  const pricing = result.data.pricing ?? {};
  const input = priceOf(pricing["input"]);
  const output = priceOf(pricing["output"]);
  if (input === undefined || output === undefined) return "no_price";
  return {
    id,
    name: nameOf(result.data.name, id),
    ownedBy: nameOf(result.data.owned_by, vendorOf(id)),
    capabilities: [
      "chat",
      ...(tags.includes("vision") ? ["vision"] : []),
      ...(tags.includes("file-input") ? ["file-input"] : []),
      ...(tags.includes("tool-use") ? ["tools"] : []),
      ...(tags.includes("reasoning") ? ["reasoning"] : []),
    ],
    supportedParameters: [],
    contextTokens: result.data.context_window ?? null,
    maxOutputTokens: result.data.max_tokens ?? null,
    releaseDate: dayOf(result.data.released),
    shutdownDate: null,
    prices: {
      input,
      output,
      request: 0n,
      cachedInput: extraPrice(pricing["input_cache_read"]),
      cacheWrite: extraPrice(pricing["input_cache_write"]),
      imageInput: null,
      audioInput: null,
      reasoning: null,
      imageOutput: null,
      audioOutput: null,
      tools: {},
    },
  };
}
