// Gateway bills are read from upstreams that serve many providers: from `usage.cost` or from a look-up of the
// generation.
import type { GenerationQuery, UpstreamKind } from "./upstream-kind.ts";

export const reportedCost: UpstreamKind["reportedCost"] = (usage, amount) => {
  const cost = amount("cost");
  if (cost === undefined) return undefined;
  // With a key of our own behind the gateway, its cost is a fee on top of that provider's bill.
  const own = usage["is_byok"] === true ? (amount("cost_details", "upstream_inference_cost") ?? 0n) : 0n;
  return { cost: cost + own, isUsageCost: own === 0n };
};

export const generations: GenerationQuery = {
  path: (id) => `/generation?id=${encodeURIComponent(id)}`,
  read(data, amount) {
    const cost = amount("total_cost");
    if (cost === undefined) return undefined;
    const own = data["is_byok"] === true ? (amount("upstream_inference_cost") ?? 0n) : 0n;
    return {
      cost: cost + own,
      inputTokens: data["native_tokens_prompt"] ?? data["tokens_prompt"],
      outputTokens: data["native_tokens_completion"] ?? data["tokens_completion"],
    };
  },
};
