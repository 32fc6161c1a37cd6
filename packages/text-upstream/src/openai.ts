// OpenAI, and servers that speak its format (vLLM, Ollama, llama.cpp, LM Studio): list ids without prices, say tokens and no cost, and cannot be asked. Such
// a row has an id and little more; what the model costs and can do is ours to say.
import { z } from "zod";
import { dayOf, rowId, unixSeconds } from "./listed-row.ts";
import { toolCalls } from "./tool-calls.ts";
import type { UpstreamKind } from "./upstream-kind.ts";

const listedRow = z.object({ id: rowId, created: unixSeconds });

export const openAi: UpstreamKind = {
  name: "openai",
  publicAddress: "https://api.openai.com/v1",
  prices: "price-list",
  listing: {
    prices: "ours",
    readRow(row) {
      const result = listedRow.safeParse(row);
      if (!result.success) return "malformed";
      const { id, created } = result.data;
      return { id, releaseDate: dayOf(created) };
    },
  },
  // Models that think refuse the older name.
  limitFields: { chat: "max_completion_tokens", responses: "max_output_tokens" },
  reportsCost: false,
  reportedCost: () => undefined,
  toolCalls,
  generations: undefined,
};

/** A server of anybody's, anywhere. What it serves and what that costs, the operator's own catalogue says. */
export const openAiCompatible: UpstreamKind = {
  ...openAi,
  name: "openai-compatible",
  publicAddress: undefined,
  prices: "catalogue",
};
