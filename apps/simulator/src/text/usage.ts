// Usage of one text generation, and its cost.
import type { PicoUsd } from "../bill/prices.ts";
import type { TextRequest } from "./text-request.ts";
import type { Factor } from "./text-terms.ts";

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Output tokens that are reasoning. */
  readonly reasoningTokens: number;
  /** Input tokens that were written to a cache. */
  readonly writtenTokens: number;
  /** True if they are cached for longer than usual. */
  readonly hasLongWrites: boolean;
  readonly tier: string;
  readonly inputCost: PicoUsd;
  readonly outputCost: PicoUsd;
  readonly cost: PicoUsd;
}

export function usageOf(request: TextRequest, tokens: number, reasoningTokens: number): Usage {
  const { terms, inputTokens } = request;
  const { price } = request.model;
  const outputTokens = tokens + terms.beside;
  const plain = BigInt(inputTokens - terms.written) * price.input;
  const written = times(BigInt(terms.written) * price.input, terms.writeRate);
  const inputCost = times(plain + written, terms.input);
  const outputCost = times(BigInt(outputTokens) * price.output, terms.output);
  return {
    ...{ inputTokens, outputTokens, inputCost, outputCost, tier: terms.tier },
    reasoningTokens: reasoningTokens + terms.beside,
    writtenTokens: terms.written,
    hasLongWrites: terms.hasLongWrites,
    cost: inputCost + outputCost + terms.fee,
  };
}

function times(amount: PicoUsd, [above, below]: Factor): PicoUsd {
  return (amount * above) / below;
}
