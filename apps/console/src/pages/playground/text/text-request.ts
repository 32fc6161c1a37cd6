// A text request is the request of the text tab: parameters that the model accepts, and the conversation so far.
// Sending, quote and code all use this one request.
import type { ApiRequest, ModelRecord } from "../../../api/public-api.ts";
import { PATHS } from "../../../api/request-paths.ts";
import { AUTO, type Message, type TextDraft } from "../drafts.ts";

export const EFFORTS = ["low", "medium", "high"] as const;

type Parameter = "temperature" | "top_p" | "max_tokens" | "reasoning" | "response_format" | "tools";
/** Names under which lists of models have a parameter. */
const NAMES: Readonly<Record<Parameter, readonly string[]>> = {
  temperature: ["temperature"],
  top_p: ["top_p"],
  max_tokens: ["max_tokens", "max_completion_tokens"],
  reasoning: ["reasoning", "reasoning_effort"],
  response_format: ["response_format", "structured_outputs"],
  tools: ["tools"],
};

/** A model without a list of parameters may accept all. */
export function acceptsText({ supported_parameters: known }: ModelRecord, parameter: Parameter): boolean {
  return known.length === 0 || NAMES[parameter].some((name) => known.includes(name));
}

/** @returns the tools; undefined if the text is no JSON array */
export function toolsOf(text: string): unknown[] | undefined {
  if (text.trim() === "") return [];
  try {
    const tools: unknown = JSON.parse(text);
    return Array.isArray(tools) ? tools : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @param asked new messages after the conversation of the draft */
export function textRequest(model: ModelRecord, draft: TextDraft, asked: readonly Message[]): ApiRequest {
  const { system } = draft;
  const messages = [
    ...(system.trim() === "" ? [] : [{ role: "system", content: system }]),
    ...[...draft.messages, ...asked].filter(hasContent).map(sentMessage),
  ];
  const body = { model: model.id, ...parametersOf(model, draft), messages, stream: true };
  return { type: "text", path: PATHS.text, body, files: [], isAsync: false };
}

/** An answer that failed before its first word is not sent again: providers refuse it. */
const hasContent = ({ role, content, toolCalls = [] }: Message) =>
  role === "tool" || content !== "" || toolCalls.length > 0;

function sentMessage({ role, content, toolCalls = [], toolCallId }: Message) {
  if (role === "tool") return { role, tool_call_id: toolCallId, content };
  if (toolCalls.length === 0) return { role, content };
  const calls = toolCalls.map(({ id, name, arguments: given }) => {
    return { id, type: "function", function: { name, arguments: given } };
  });
  return { role, content: content === "" ? null : content, tool_calls: calls };
}

function parametersOf(model: ModelRecord, draft: TextDraft): Record<string, unknown> {
  const { temperature, topP, maxTokens, effort, isJson } = draft;
  const tools = toolsOf(draft.tools) ?? [];
  const can = (parameter: Parameter) => acceptsText(model, parameter);
  const known = model.supported_parameters;
  const isNewLimit = known.includes("max_completion_tokens") && !known.includes("max_tokens");
  const isNested = known.includes("reasoning") && !known.includes("reasoning_effort");
  return {
    ...(temperature !== null && can("temperature") && { temperature }),
    ...(topP !== null && can("top_p") && { top_p: topP }),
    ...(maxTokens !== null &&
      can("max_tokens") && { [isNewLimit ? "max_completion_tokens" : "max_tokens"]: maxTokens }),
    ...(effort !== AUTO &&
      can("reasoning") &&
      (isNested ? { reasoning: { effort } } : { reasoning_effort: effort })),
    ...(isJson && can("response_format") && { response_format: { type: "json_object" } }),
    ...(tools.length > 0 && can("tools") && { tools }),
  };
}

/** Returns the names of set parameters that this model does not accept. They stay in the draft for other models. */
export function unusedByText(model: ModelRecord, draft: TextDraft): string[] {
  const set = [
    ["Temperature", draft.temperature !== null, "temperature"],
    ["Top p", draft.topP !== null, "top_p"],
    ["Max output tokens", draft.maxTokens !== null, "max_tokens"],
    ["Reasoning effort", draft.effort !== AUTO, "reasoning"],
    ["JSON output", draft.isJson, "response_format"],
    ["Tools", (toolsOf(draft.tools) ?? []).length > 0, "tools"],
  ] as const;
  return set
    .filter(([, isSet, parameter]) => isSet && !acceptsText(model, parameter))
    .map(([label]) => label);
}
