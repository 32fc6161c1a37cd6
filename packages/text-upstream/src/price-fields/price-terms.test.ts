// Guarantees of the field table for each kind of upstream: an unknown price is refused by name, and a standard field is
// never refused. A bound is added if the upstream can enforce it.
import { describe, expect, test } from "@jest/globals";
import type { KindName } from "../upstream-kind.ts";
import { UPSTREAM_KINDS } from "../upstream-kinds.ts";
import { findFields, MOST_FIELDS } from "./find-fields.ts";
import { type PricedEffects, priceTermsOf } from "./price-terms.ts";

const NONE: PricedEffects = {
  hasTier: (tier) => ["auto", "default"].includes(tier),
  hasTool: () => false,
  hasMeter: () => false,
};
const ALL: PricedEffects = { hasTier: () => true, hasTool: () => true, hasMeter: () => true };

function terms(
  kind: KindName,
  body: object,
  { prices = NONE, billed = true, passUnknownFields = false } = {},
) {
  const at = { kind: UPSTREAM_KINDS[kind], billed, passUnknownFields };
  return priceTermsOf(findFields({ ...body }), at, prices);
}
const refusedAt = (kind: KindName, body: object, more = {}) => {
  const read = terms(kind, body, more);
  return "refused" in read ? read.refused.param : undefined;
};

describe("an effect without a price", () => {
  test.each<[string, object]>([
    ["service_tier", { service_tier: "priority" }],
    ["service_tier", { service_tier: "ultrafast" }],
    ["speed", { speed: "fast" }],
    ["tools[1].type", { tools: [{ type: "function" }, { type: "web_search" }] }],
    ["tools[0].type", { tools: [{ type: "image_generation", quality: "high" }] }],
    ["tools[0].type", { tools: [{ type: "code_interpreter", container: { type: "auto" } }] }],
    [
      "tools[0].tools[1].type",
      { tools: [{ type: "namespace", tools: [{ type: "function" }, { type: "file_search" }] }] },
    ],
    ["web_search_options", { web_search_options: {} }],
    ["modalities[1]", { modalities: ["text", "audio"] }],
    ["prompt_cache_options.ttl", { prompt_cache_options: { ttl: "12h" } }],
    [
      "messages[0].content[0].cache_control.ttl",
      { messages: [{ content: [{ type: "text", cache_control: { type: "ephemeral", ttl: "1h" } }] }] },
    ],
    ["messages[0].content[0]", { messages: [{ content: [{ type: "input_audio" }] }] }],
    ["search_parameters", { search_parameters: { mode: "on" } }],
    ["x_future", { x_future: 1 }],
  ])("is refused by its name where our list computes the cost: %s", (param, body) => {
    expect(refusedAt("openai", body)).toBe(param);
    expect(refusedAt("openai-compatible", body)).toBe(param);
    expect(refusedAt("openai", body, { billed: false })).toBeUndefined();
  });

  test.each<[string, object]>([
    ["service_tier", { service_tier: "priority" }],
    ["speed", { speed: "fast" }],
    ["cache_control.ttl", { cache_control: { type: "ephemeral", ttl: "1h" } }],
  ])("is refused where the cost is reported, too: %s", (param, body) => {
    expect(refusedAt("openrouter", body)).toBe(param);
    expect(refusedAt("vercel", body)).toBe(param);
  });

  test("is refused where two tiers would multiply, although each has a price", () => {
    const body = { service_tier: "priority", speed: "fast" };
    expect(refusedAt("openrouter", body, { prices: ALL })).toBe("speed");
    expect(refusedAt("openrouter", { service_tier: "priority" }, { prices: ALL })).toBeUndefined();
  });

  test("is refused in the options of a gateway and of the providers behind it", () => {
    for (const owner of ["gateway", "openai"]) {
      const body = { providerOptions: { [owner]: { serviceTier: "priority" } } };
      expect(refusedAt("vercel", body)).toBe(`providerOptions.${owner}.serviceTier`);
      expect(terms("vercel", body, { prices: ALL })).toMatchObject({ tier: "priority" });
    }
  });

  test("is served where the model has a price for it", () => {
    const body = {
      service_tier: "priority",
      tools: [{ type: "web_search" }],
      prompt_cache_options: { ttl: "12h" },
    };
    expect(terms("openai", body, { prices: ALL })).toEqual({
      tier: "priority",
      calls: new Set(["web_search_call"]),
      longCache: true,
      bounds: new Set(),
    });
  });

  test("of a container with more memory has none in any price list", () => {
    const container = { type: "auto", memory_limit: "64g" };
    const body = { tools: [{ type: "code_interpreter", container }] };
    expect(refusedAt("openai", body, { prices: ALL })).toBe("tools[0].container");
    const known = { tools: [{ type: "code_interpreter", container: "cntr_1" }] };
    expect(refusedAt("openai", known, { prices: ALL })).toBe("tools[0].container");
  });
});

describe("a bound of the upstream", () => {
  test("is the standard tier at OpenAI, whatever its account is set to", () => {
    for (const body of [{}, { service_tier: "auto" }, { service_tier: null }]) {
      expect(terms("openai", body)).toMatchObject({ bounds: new Set(["standard_tier"]) });
    }
    expect(terms("openai", { service_tier: "default" })).toMatchObject({ bounds: new Set() });
    expect(terms("openai-compatible", {})).toMatchObject({ bounds: new Set() });
  });

  test("is the price of hosts at OpenRouter, where the client steers among them", () => {
    for (const provider of [
      { only: ["dear"] },
      { order: ["dear"], sort: "latency" },
      { max_price: { prompt: 99 } },
    ]) {
      expect(terms("openrouter", { provider })).toMatchObject({ bounds: new Set(["max_price"]) });
    }
    expect(refusedAt("vercel", { providerOptions: { gateway: { only: ["dear"] } } })).toBe(
      "providerOptions.gateway.only",
    );
  });

  test("is the cost of tools that OpenRouter runs", () => {
    expect(terms("openrouter", { tools: [{ type: "openrouter:web_search" }] })).toMatchObject({
      bounds: new Set(["server_tool_cost"]),
    });
    expect(refusedAt("openrouter", { tools: [{ type: "openrouter:subagent" }] })).toBe("tools[0].type");
    expect(refusedAt("openrouter", { plugins: [{ id: "fusion" }] })).toBe("plugins[0].id");
    expect(refusedAt("openrouter", { plugins: [{ id: "web", max_results: 500 }] })).toBe(
      "plugins[0].max_results",
    );
  });
});

test("a priced field is found behind any number of others, or the body is known to have too many", () => {
  const others = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x_${index}`, 1]));
  expect(refusedAt("openrouter", { ...others, speed: "fast" })).toBe("speed");
  const tools = Array.from({ length: 20_000 }, (_, index) => ({ type: `x_${index}` }));
  expect(findFields({ tools })).toHaveLength(MOST_FIELDS);
});

describe("no ordinary request is refused", () => {
  const codex = {
    ...{
      model: "m",
      instructions: "x",
      input: [],
      tool_choice: "auto",
      parallel_tool_calls: true,
      stream: true,
    },
    ...{
      reasoning: { effort: "high", summary: "auto" },
      store: false,
      include: ["reasoning.encrypted_content"],
    },
    ...{
      service_tier: "default",
      prompt_cache_key: "k",
      text: { verbosity: "low" },
      client_metadata: { a: "b" },
    },
    tools: [
      { type: "function" },
      { type: "custom" },
      { type: "namespace", tools: [{ type: "function" }] },
      { type: "local_shell" },
    ],
  };
  const chat = {
    ...{
      model: "m",
      messages: [{ role: "user", content: [{ type: "text", cache_control: { type: "ephemeral" } }] }],
    },
    ...{
      n: 2,
      max_tokens: 9,
      max_completion_tokens: 9,
      temperature: 1,
      top_p: 1,
      seed: 1,
      stop: ["x"],
      user: "u",
    },
    ...{ logit_bias: {}, logprobs: true, top_logprobs: 5, metadata: {}, modalities: ["text"], functions: [] },
    ...{
      response_format: { type: "json_object" },
      prediction: { type: "content" },
      stream_options: {},
      store: true,
    },
    ...{ reasoning_effort: "high", verbosity: "low", parallel_tool_calls: false, tools: [{ function: {} }] },
  };
  const others = {
    ...{
      model: "m",
      messages: [],
      usage: { include: true },
      transforms: [],
      search_parameters: { mode: "off" },
    },
    ...{
      include_reasoning: true,
      session_id: "s",
      max_tool_calls: 0,
      cache_control: null,
      service_tier: null,
    },
  };
  test.each(["openai", "openai-compatible", "openrouter", "vercel"] as const)("%s", (kind) => {
    expect(refusedAt(kind, others)).toBeUndefined();
    expect(refusedAt(kind, codex)).toBeUndefined();
    expect(refusedAt(kind, chat)).toBeUndefined();
  });

  test("unknown fields pass where the upstream reports its cost, or its operator lets them", () => {
    expect(refusedAt("openrouter", { x_future: 1 })).toBeUndefined();
    expect(refusedAt("openai", { x_future: 1 }, { passUnknownFields: true })).toBeUndefined();
    expect(refusedAt("openai-compatible", { top_k: 5, chat_template_kwargs: {} })).toBeUndefined();
  });
});
