// Requests with each field that decides a price, sent by a client that wants more than its charge.

export interface FieldCase {
  readonly name: string;
  readonly path: "chat/completions" | "responses";
  readonly body: Readonly<Record<string, unknown>>;
}

/** The price tables of a review: long enough that the upstream's bill is well above a rounding. */
const ASKED = "#tokens=400";
/** Long enough that a dear host's bill is above the surplus that the router believes. */
const LONG_ANSWER = "#tokens=5000";
/** More than 272,000 tokens of the simulator's, which counts one for four bytes. */
const LONG_TEXT = "lorem ipsum ".repeat(100_000);

type Fields = Readonly<Record<string, unknown>>;

const chat = (name: string, fields: Fields, text = ASKED): FieldCase => ({
  ...{ name, path: "chat/completions" },
  body: { messages: [{ role: "user", content: text }], ...fields },
});
const responses = (name: string, fields: Fields, text = ASKED): FieldCase => ({
  ...{ name, path: "responses" },
  body: { input: text, ...fields },
});
const both = (name: string, fields: Fields, text?: string) => [
  chat(name, fields, text),
  responses(name, fields, text),
];
const marked = (ttl: string) => ({
  messages: [
    {
      role: "user",
      content: [{ type: "text", text: "x".repeat(40_000), cache_control: { type: "ephemeral", ttl } }],
    },
  ],
});
const calls = (count: number) => `#calls=${count} ${ASKED}`;
const tool = (type: string, more: Fields = {}) => ({ tools: [{ type, ...more }] });

export function fieldCases(): readonly FieldCase[] {
  return [
    ...both("nothing", {}),
    ...both("max tokens", { max_tokens: 100, max_output_tokens: 100 }),
    ...["auto", "default", "flex", "priority", "fast", "scale", "ultrafast"].flatMap((tier) =>
      both(`service_tier ${tier}`, { service_tier: tier }),
    ),
    ...["standard", "fast"].flatMap((speed) => both(`speed ${speed}`, { speed })),
    ...both("fast and priority", { speed: "fast", service_tier: "priority" }),
    ...both("a long input", {}, LONG_TEXT),
    ...both("a long input with priority", { service_tier: "priority" }, LONG_TEXT),
    chat("cache 5m", marked("5m")),
    chat("cache 1h", marked("1h")),
    ...both("cache for the whole", { cache_control: { type: "ephemeral", ttl: "1h" } }, "x".repeat(40_000)),
    ...both("cache 12h", { prompt_cache_options: { ttl: "12h" } }, "x".repeat(40_000)),
    ...both("cache retention", { prompt_cache_retention: "24h" }),
    responses("ten searches", tool("web_search"), calls(10)),
    responses("sixty searches", tool("web_search"), calls(60)),
    responses("searches beyond the client's limit", { ...tool("web_search"), max_tool_calls: 30 }, calls(60)),
    responses("ten preview searches", tool("web_search_preview"), calls(10)),
    responses("three pictures", tool("image_generation", { quality: "high" }), calls(3)),
    responses("file searches", tool("file_search", { vector_store_ids: ["v"] }), calls(20)),
    responses("an interpreter", tool("code_interpreter", { container: { type: "auto" } }), calls(5)),
    responses(
      "a large interpreter",
      tool("code_interpreter", { container: { type: "auto", memory_limit: "64g" } }),
      calls(1),
    ),
    responses("a known container", tool("code_interpreter", { container: "cntr_1" }), calls(1)),
    responses(
      "a search in a namespace",
      tool("namespace", { name: "n", tools: [{ type: "web_search" }] }),
      calls(9),
    ),
    responses("a hosted shell", tool("shell", { environment: { type: "container_auto" } }), calls(1)),
    responses("a tool of the future", tool("x_future"), calls(3)),
    ...both("a router's search", tool("openrouter:web_search"), calls(60)),
    ...both(
      "a router's search, capped by the client",
      {
        ...tool("openrouter:web_search"),
        stop_server_tools_when: [{ type: "max_cost", max_cost_in_dollars: 100 }],
      },
      calls(60),
    ),
    ...both("a router's sub-agent", tool("openrouter:subagent"), calls(3)),
    chat("search options", { web_search_options: {} }),
    chat("search options, four answers", { web_search_options: {}, n: 4 }),
    ...both("search parameters", { search_parameters: { mode: "on" } }),
    ...both("a web plugin", { plugins: [{ id: "web", max_results: 10 }] }),
    ...both("a greedy web plugin", { plugins: [{ id: "web", max_results: 900 }] }),
    ...both("a fusion plugin", { plugins: [{ id: "fusion" }] }),
    ...both("a dear host only", { provider: { only: ["sandbox-dear"] } }),
    ...both("a dear host first", { provider: { order: ["sandbox-dear"], allow_fallbacks: false } }),
    ...both("the fastest host", { provider: { sort: "throughput" } }),
    ...both("a dear host, allowed by the client", {
      provider: { only: ["sandbox-dear"], max_price: { prompt: 1_000, completion: "1000" } },
    }),
    ...both("a host below the client's own limit", { provider: { max_price: { prompt: 0.0001 } } }),
    ...both("a dear host with priority", { provider: { only: ["sandbox-dear"] }, service_tier: "priority" }),
    ...["cost", "tps", "ttft"].flatMap((sort) =>
      both(`a gateway's hosts by ${sort}`, { providerOptions: { gateway: { sort } } }, LONG_ANSWER),
    ),
    ...["only", "order", "models"].flatMap((name) =>
      both(
        `a gateway's dear host in ${name}`,
        { providerOptions: { gateway: { [name]: ["sandbox-dear"] } } },
        LONG_ANSWER,
      ),
    ),
    ...["flex", "priority"].flatMap((serviceTier) => [
      ...both(`a gateway's tier ${serviceTier}`, { providerOptions: { gateway: { serviceTier } } }),
      ...both(`a provider's tier ${serviceTier}`, { providerOptions: { openai: { serviceTier } } }),
    ]),
    ...both("a provider's fast mode", { providerOptions: { anthropic: { speed: "fast" } } }),
    ...both("a provider's fast mode in a dear tier", {
      providerOptions: { anthropic: { speed: "fast" }, gateway: { serviceTier: "priority" } },
    }),
    ...both("other models", { models: ["sandbox/chat-vision"] }),
    ...both("thoughts beside the limit", {
      max_tokens: 50,
      max_output_tokens: 50,
      reasoning: { max_tokens: 4_000 },
    }),
    ...both("thoughts", { reasoning: { effort: "high" } }),
    chat("a prediction", { prediction: { type: "content", content: "x".repeat(20_000) }, max_tokens: 20 }),
    chat("four answers", { n: 4, max_tokens: 200 }),
    chat("sound", { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } }),
    ...both("in the background", { background: true }),
    ...both("stored", { store: true, metadata: { a: "b" } }).filter(
      ({ path }) => path === "chat/completions",
    ),
    ...both("a field of the future", { x_future: { tier: "gold" } }),
  ];
}
