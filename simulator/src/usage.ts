// What one text generation used and what that costs.
import type { PicoUsd } from "./prices.ts";
import type { TextRequest } from "./text-request.ts";

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Those of the output that are reasoning. */
  readonly reasoningTokens: number;
  readonly inputCost: PicoUsd;
  readonly outputCost: PicoUsd;
  readonly cost: PicoUsd;
}

export function usageOf(request: TextRequest, outputTokens: number, reasoningTokens: number): Usage {
  const { price } = request.model;
  const inputCost = BigInt(request.inputTokens) * price.input;
  const outputCost = BigInt(outputTokens) * price.output;
  return {
    inputTokens: request.inputTokens,
    outputTokens,
    reasoningTokens,
    inputCost,
    outputCost,
    cost: inputCost + outputCost,
  };
}
