// OpenAI, and servers with its format (vLLM, Ollama, llama.cpp, LM Studio), list ids without prices and offer no
// look-ups. Their usage reports tokens and no cost. A row has little more than an id, so our own price list and
// catalogue describe the model.
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
  // Reasoning models refuse the older name.
  limitFields: { chat: "max_completion_tokens", responses: "max_output_tokens" },
  reportsCost: false,
  reportedCost: () => undefined,
  toolCalls,
  generations: undefined,
};

/** A server of any owner. The operator's own catalogue lists its models and their prices. */
export const openAiCompatible: UpstreamKind = {
  ...openAi,
  name: "openai-compatible",
  publicAddress: undefined,
  prices: "catalogue",
};
