// Field rows list every supported request field with its effect on the price. Of the rows for a field, kind and value
// the first applies. A field without a row is refused if our own price list computes the cost, and passed if the
// upstream reports its cost.
import type { KindName } from "../upstream-kind.ts";
import type { FieldRow, Treatment } from "./field-row.ts";

const AS_OF = "2026-11-24";
/** Field documentation in the types of the pinned SDK. */
const OPENAI =
  "npm openai 7.55.0: resources/chat/completions/completions.d.ts, resources/responses/responses.d.ts";
const PRICING = "developers.openai.com/api/docs/pricing, as in PyPI litellm 1.109.1";
const OPENROUTER = "github.com/OpenRouterTeam/docs@c26125a: openapi/openapi.yaml, features";
const VERCEL = "npm @ai-sdk/gateway 4.0.146";
const VLLM = "docs.vllm.ai: serving/openai_compatible_server, extra parameters; they shape tokens";
const ANTHROPIC = "npm @anthropic-ai/sdk 1.12.0, PyPI litellm 1.109.1";

const OWN_LIST = ["openai", "openai-compatible"] as const satisfies readonly KindName[];
const REPORTING = ["openrouter", "vercel"] as const satisfies readonly KindName[];

const HARMLESS: Treatment = { kind: "harmless" };
const TOKENS: Treatment = { kind: "priced", by: { as: "tokens" } };
const TIER: Treatment = { kind: "priced", by: { as: "tier" } };
const MAX_PRICE: Treatment = { kind: "bounded", by: "max_price" };
const SERVER_TOOL_COST: Treatment = { kind: "bounded", by: "server_tool_cost" };
const meter = (name: "long_cache_write" | "audio_input" | "audio_output" | "image_output"): Treatment => ({
  kind: "priced",
  by: { as: "meter", meter: name },
});
const tool = (call: string): Treatment => ({ kind: "priced", by: { as: "tool", call } });
const refused = (remedy: string): Treatment => ({ kind: "refused", remedy });

type About = Omit<FieldRow, "field" | "treatment" | "source" | "asOf">;
const row = (field: string, treatment: Treatment, source: string, about: About = {}): FieldRow => ({
  field,
  treatment,
  source,
  asOf: AS_OF,
  ...about,
});
const rows = (
  names: readonly string[],
  treatment: Treatment,
  source: string,
  about: About = {},
): readonly FieldRow[] => names.map((name) => row(name, treatment, source, about));

/** Fields that shape the answer, without a price. */
export const SHAPING_FIELDS = [
  "model",
  "frequency_penalty",
  "function_call",
  "include",
  "logit_bias",
  "logprobs",
  "metadata",
  "moderation",
  "parallel_tool_calls",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_retention",
  "reasoning_effort",
  "response_format",
  "safety_identifier",
  "seed",
  "stop",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
  "verbosity",
] as const;

/** Fields that decide the number of tokens. They size the hold, and the reported tokens are charged. */
export const TOKEN_FIELDS = [
  "messages",
  "input",
  "instructions",
  "functions",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "max_tool_calls",
  "n",
  "prediction",
  "previous_response_id",
  "conversation",
  "prompt",
  "reasoning",
  "context_management",
  "image",
] as const;

/** Fields with special rows below. */
export const SPECIAL_FIELDS = [
  "audio",
  "background",
  "access_programs",
  "modalities",
  "prompt_cache_options",
  "service_tier",
  "tools",
  "web_search_options",
] as const;

/** Tools that the client runs, or that add only tokens. */
export const CLIENT_TOOL_TYPES = [
  "function",
  "custom",
  "local_shell",
  "apply_patch",
  "namespace",
  "computer",
  "computer_use_preview",
  "computer-preview",
  "tool_search",
  "programmatic_tool_calling",
  "mcp",
] as const;

export const FEE_TOOL_TYPES = [
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11",
  "file_search",
  "code_interpreter",
  "image_generation",
  "shell",
] as const;

const NO_OTHER_BILL = 'is refused: it changes the payer or the model; name one model in "model"';
const ANSWER_NOW = "must be false: answers are not kept for later";
const NO_STEERING = "is refused: the upstream has no limit for the price of the host; leave it out";

export const FIELD_ROWS: readonly FieldRow[] = [
  ...rows(SHAPING_FIELDS, HARMLESS, OPENAI),
  ...rows(TOKEN_FIELDS, TOKENS, OPENAI),
  row("models", refused('is not supported; name one model in "model"'), OPENROUTER),
  row("background", HARMLESS, OPENAI, { values: ["false"] }),
  row("background", refused(ANSWER_NOW), OPENAI),
  row("access_programs", refused("is refused: programs of the operator's account have no price"), OPENAI),

  // Service tiers.
  row("service_tier", { kind: "bounded", by: "standard_tier" }, OPENAI, {
    kinds: ["openai"],
    values: ["", "auto"],
  }),
  row("service_tier", HARMLESS, OPENAI, { values: ["auto", "default", "standard", "standard_only"] }),
  row("service_tier", HARMLESS, `${OPENROUTER}: flex costs less, and its cost is reported`, {
    kinds: REPORTING,
    values: ["flex"],
  }),
  row("service_tier", HARMLESS, "console.groq.com/docs/service-tiers: the listed price", {
    kinds: ["openai-compatible"],
    values: ["on_demand"],
  }),
  row("service_tier", TIER, PRICING),
  row("speed", HARMLESS, ANTHROPIC, { values: ["standard"] }),
  row("speed", { kind: "priced", by: { as: "fixed_tier", tier: "fast_mode" } }, ANTHROPIC),
  row(
    "inference_geo",
    refused("is refused: a region of the client's choice has no price; leave it out"),
    ANTHROPIC,
  ),

  // Caches.
  row("cache_control", HARMLESS, ANTHROPIC),
  row("cache_control.ttl", HARMLESS, `${ANTHROPIC}: a write at the listed price`, { values: ["5m"] }),
  row("cache_control.ttl", meter("long_cache_write"), `${ANTHROPIC}: 1h = 2 × input`),
  row("prompt_cache_options", HARMLESS, OPENAI),
  row("prompt_cache_options.ttl", HARMLESS, `${OPENAI}: the default`, { values: ["30m"] }),
  row("prompt_cache_options.ttl", meter("long_cache_write"), PRICING),
  row("prompt_cache_breakpoint.ttl", HARMLESS, `${OPENAI}: the default`, { values: ["30m"] }),
  row("prompt_cache_breakpoint.ttl", meter("long_cache_write"), PRICING),

  // Input and output besides text. Upstreams that list their prices have models with text as their only output.
  row("modalities", HARMLESS, OPENAI),
  row("modalities[]", HARMLESS, OPENAI, { values: ["text"] }),
  row("modalities[]", HARMLESS, `${OPENROUTER}: models with other output are not imported`, {
    kinds: REPORTING,
  }),
  row("modalities[]", meter("audio_output"), PRICING, { values: ["audio"] }),
  row("modalities[]", meter("image_output"), PRICING),
  row("audio", HARMLESS, `${OPENAI}: voice and format; modalities decide`),
  row("input_audio", HARMLESS, `${OPENROUTER}: its cost is reported`, { kinds: REPORTING }),
  row("input_audio", meter("audio_input"), PRICING),

  // Tools.
  row("tools", HARMLESS, OPENAI),
  ...rows(["tools[].type"], TOKENS, `${OPENAI}: run by the client, or paid by tokens`, {
    values: CLIENT_TOOL_TYPES,
  }),
  row("tools[].type", refused("is refused: it runs another model at an unknown price"), OPENROUTER, {
    kinds: ["openrouter"],
    values: ["openrouter:image_generation", "openrouter:subagent", "openrouter:advisor", "openrouter:fusion"],
  }),
  row("tools[].type", SERVER_TOOL_COST, `${OPENROUTER}: StopServerToolsWhenMaxCost`, {
    kinds: ["openrouter"],
  }),
  row("tools[].type", tool("web_search_preview_call"), PRICING, {
    kinds: OWN_LIST,
    values: ["web_search_preview*"],
  }),
  row("tools[].type", tool("web_search_call"), PRICING, {
    kinds: OWN_LIST,
    values: ["web_search", "web_search_20*"],
  }),
  row("tools[].type", tool("file_search_call"), PRICING, { kinds: OWN_LIST, values: ["file_search"] }),
  row("tools[].type", tool("code_interpreter_call"), PRICING, {
    kinds: OWN_LIST,
    values: ["code_interpreter"],
  }),
  row("tools[].type", tool("image_generation_call"), PRICING, {
    kinds: OWN_LIST,
    values: ["image_generation"],
  }),
  row("tools[].type", HARMLESS, `${OPENAI}: its environment decides`, { kinds: OWN_LIST, values: ["shell"] }),
  row("tools[].container", HARMLESS, `${PRICING}: 1 GB is the listed session`, { values: ["1g"] }),
  row(
    "tools[].container",
    refused('is refused: only containers of type "auto" with 1 GB have a price'),
    PRICING,
  ),
  row("tools[].environment", HARMLESS, `${OPENAI}: run by the client`, { values: ["local"] }),
  row("tools[].environment", refused('is refused: only "local" has a price'), PRICING),
  row("max_tool_calls", TOKENS, OPENAI),
  row("web_search_options", tool("web_search_call"), PRICING, { kinds: OWN_LIST }),
  row("web_search_options", HARMLESS, `${OPENROUTER}: one search, within the hold for extras`, {
    kinds: REPORTING,
  }),
  row("search_parameters.mode", HARMLESS, "docs.x.ai: live search", { values: ["off"] }),
  row(
    "search_parameters.mode",
    refused("is refused: its sources have fees that are not listed"),
    "docs.x.ai: live search",
  ),

  // OpenRouter.
  row("provider", MAX_PRICE, `${OPENROUTER}: ProviderPreferences.max_price`, { kinds: ["openrouter"] }),
  row("provider.options", refused("is refused: its use by the host has no price; leave it out"), OPENROUTER, {
    kinds: ["openrouter"],
  }),
  row("route", MAX_PRICE, OPENROUTER, { kinds: ["openrouter"] }),
  row("preset", refused(NO_OTHER_BILL), OPENROUTER, { kinds: ["openrouter"] }),
  row("fallbacks", refused(NO_OTHER_BILL), OPENROUTER, { kinds: REPORTING }),
  row("billing_policy", refused(NO_OTHER_BILL), ANTHROPIC, { kinds: REPORTING }),
  row("plugins", HARMLESS, OPENROUTER, { kinds: REPORTING }),
  row("plugins[].id", HARMLESS, `${OPENROUTER}: free, or within the hold for extras`, {
    kinds: ["openrouter"],
    values: ["web", "file-parser", "response-healing", "context-compression", "moderation"],
  }),
  row("plugins[].id", refused("is refused: the plugin has no bounded price"), OPENROUTER, {
    kinds: ["openrouter"],
  }),
  row("plugins[].max_results", HARMLESS, `${OPENROUTER}: at most 0.02 USD`, {
    kinds: ["openrouter"],
    values: ["few"],
  }),
  row("plugins[].max_results", refused("must be at most 20: each result has a fee"), OPENROUTER, {
    kinds: ["openrouter"],
  }),
  row("plugins[].engine", HARMLESS, OPENROUTER, {
    kinds: ["openrouter"],
    values: ["native", "pdf-text", "exa"],
  }),
  row(
    "plugins[].engine",
    refused("is refused: its price for a page or a search is not bounded"),
    OPENROUTER,
    {
      kinds: ["openrouter"],
    },
  ),
  ...rows(
    ["transforms", "usage", "include_reasoning", "session_id", "trace", "stop_server_tools_when"],
    HARMLESS,
    `${OPENROUTER}: labels and fields that shorten the input; clients of OpenRouter send them everywhere`,
  ),

  // Vercel.
  row("providerOptions", HARMLESS, VERCEL, { kinds: ["vercel"] }),
  row("providerOptions.gateway.sort", HARMLESS, VERCEL, { kinds: ["vercel"], values: ["cost"] }),
  ...rows(
    ["order", "only", "models", "sort", "byok"].map((name) => `providerOptions.gateway.${name}`),
    refused(NO_STEERING),
    VERCEL,
    { kinds: ["vercel"] },
  ),
  row("providerOptions.*.serviceTier", HARMLESS, VERCEL, {
    kinds: ["vercel"],
    values: ["auto", "default", "flex"],
  }),
  row("providerOptions.*.serviceTier", TIER, VERCEL, { kinds: ["vercel"] }),
  row("providerOptions.*.speed", { kind: "priced", by: { as: "fixed_tier", tier: "fast_mode" } }, VERCEL, {
    kinds: ["vercel"],
  }),

  // Servers of OpenAI's format. Fields that run an answer several times, or before others, are excluded on purpose.
  ...rows(
    [
      ...[
        "top_k",
        "top_a",
        "min_p",
        "typical_p",
        "repetition_penalty",
        "repeat_penalty",
        "length_penalty",
        "min_tokens",
      ],
      ...[
        "stop_token_ids",
        "ignore_eos",
        "skip_special_tokens",
        "spaces_between_special_tokens",
        "add_special_tokens",
      ],
      ...[
        "chat_template",
        "chat_template_kwargs",
        "add_generation_prompt",
        "continue_final_message",
        "documents",
      ],
      ...[
        "guided_json",
        "guided_regex",
        "guided_choice",
        "guided_grammar",
        "structured_outputs",
        "mm_processor_kwargs",
      ],
      ...[
        "options",
        "keep_alive",
        "think",
        "format",
        "cache_prompt",
        "mirostat",
        "grammar",
        "echo",
        "prompt_logprobs",
      ],
      ...["thinking", "enable_thinking", "vl_high_resolution_images", "reasoning_format", "reasoning_split"],
      ...["random_seed", "safe_prompt", "request_id", "return_token_ids", "cache_salt", "num_ctx"],
    ],
    TOKENS,
    VLLM,
    { kinds: OWN_LIST },
  ),
  row("client_metadata", HARMLESS, "github.com/openai/codex: core/src/client.rs; a label"),
];
