// AnswerOptions are the request's options for the form of its answer: tools, structure, reasoning, choices, log
// probabilities. Both APIs have different fields for the same options; here they have one shape.
import { Refusal } from "../request/refusal.ts";
import { isObject, type JsonObject, missing, wrongType } from "../request/request-fields.ts";

export interface FunctionTool {
  readonly name: string;
  readonly description: string;
  /** JSON schema of its arguments; absent for a tool without any. */
  readonly parameters: unknown;
}

/** `{ name }` is the only tool, and it must be called. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

export type AnswerFormat =
  | { readonly kind: "text" }
  | { readonly kind: "object" }
  | { readonly kind: "schema"; readonly name: string; readonly schema: unknown };

export interface Reasoning {
  readonly tokens: number;
  /** The Responses API shows the reasoning only if the request asks for a summary. */
  readonly summary: boolean;
}

export interface AnswerOptions {
  /** Without tools of the provider (a web search, for example): the sandbox has none. */
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  readonly format: AnswerFormat;
  readonly reasoning: Reasoning | undefined;
  /** Number of answers to the same question. */
  readonly choices: number;
  /** Number of alternatives for each token; undefined without log probabilities. */
  readonly logprobs: number | undefined;
}

const MOST_CHOICES = 128;
const MOST_ALTERNATIVES = 20;
const REASONING_TOKENS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 4,
  low: 8,
  medium: 16,
  high: 32,
  xhigh: 64,
  max: 128,
};

/** @throws Refusal */
export function readChatOptions(body: JsonObject): AnswerOptions {
  const format = body["response_format"];
  return {
    ...readToolUse(body),
    format: readFormat(format, "response_format", isObject(format) ? format["json_schema"] : undefined),
    reasoning: readReasoning(body["reasoning_effort"], body["reasoning"]),
    choices: readNumber(body, "n", 1, MOST_CHOICES) ?? 1,
    logprobs:
      body["logprobs"] === true ? (readNumber(body, "top_logprobs", 0, MOST_ALTERNATIVES) ?? 0) : undefined,
  };
}

/** @throws Refusal */
export function readResponsesOptions(body: JsonObject): AnswerOptions {
  const format = isObject(body["text"]) ? body["text"]["format"] : undefined;
  const include = body["include"];
  const wanted = Array.isArray(include) && include.includes("message.output_text.logprobs");
  return {
    ...readToolUse(body),
    format: readFormat(format, "text.format", format),
    reasoning: readReasoning(undefined, body["reasoning"]),
    choices: 1,
    logprobs: wanted ? (readNumber(body, "top_logprobs", 0, MOST_ALTERNATIVES) ?? 0) : undefined,
  };
}

function readToolUse(body: JsonObject): Pick<AnswerOptions, "tools" | "toolChoice" | "parallelCalls"> {
  const tools = readTools(body["tools"]);
  return {
    tools,
    toolChoice: readToolChoice(body["tool_choice"], tools),
    parallelCalls: body["parallel_tool_calls"] !== false,
  };
}

function readTools(tools: unknown): FunctionTool[] {
  if (tools == null) return [];
  if (!Array.isArray(tools)) throw wrongType("tools", "an array of objects", tools);
  return tools.flatMap((tool: unknown, index) => {
    if (!isObject(tool)) throw wrongType(`tools[${index}]`, "an object", tool);
    return tool["type"] === "function" ? [readTool(tool, `tools[${index}]`)] : [];
  });
}

/** Chat wraps a function; the Responses API does not. */
function readTool(tool: JsonObject, path: string): FunctionTool {
  const wrapped = tool["function"];
  const definition = isObject(wrapped) ? wrapped : tool;
  const name = definition["name"];
  if (typeof name !== "string" || name === "")
    throw missing(isObject(wrapped) ? `${path}.function.name` : `${path}.name`);
  const description = definition["description"];
  return {
    name,
    description: typeof description === "string" ? description : "",
    parameters: definition["parameters"] ?? undefined,
  };
}

function readToolChoice(choice: unknown, tools: readonly FunctionTool[]): ToolChoice {
  if (choice === "none" || choice === "required") return choice;
  if (!isObject(choice)) return "auto";
  const { mode } = isObject(choice["allowed_tools"]) ? choice["allowed_tools"] : choice;
  if (choice["type"] === "allowed_tools") return mode === "required" ? "required" : "auto";
  const wrapped = choice["function"];
  const name = isObject(wrapped) ? wrapped["name"] : choice["name"];
  if (typeof name !== "string") return "auto";
  if (tools.some((tool) => tool.name === name)) return { name };
  const message = `Invalid value for 'tool_choice': no function named '${name}' was specified in the 'tools' parameter.`;
  throw new Refusal("invalid", message, "tool_choice", "invalid_value");
}

/** @param definition object with the name and the schema */
function readFormat(format: unknown, path: string, definition: unknown): AnswerFormat {
  if (!isObject(format)) return { kind: "text" };
  if (format["type"] === "json_object") return { kind: "object" };
  if (format["type"] !== "json_schema") return { kind: "text" };
  const owner = path === "response_format" ? `${path}.json_schema` : path;
  if (!isObject(definition)) throw missing(owner);
  const { name, schema } = definition;
  if (typeof name !== "string" || name === "") throw missing(`${owner}.name`);
  if (!isObject(schema)) throw missing(`${owner}.schema`);
  return { kind: "schema", name, schema };
}

function readReasoning(effort: unknown, reasoning: unknown): Reasoning | undefined {
  const wish = isObject(reasoning) ? reasoning : {};
  const asked =
    effort ?? wish["effort"] ?? (wish["enabled"] === true || wish["summary"] != null ? "medium" : "none");
  const tokens = typeof asked === "string" ? REASONING_TOKENS[asked] : undefined;
  if (tokens === undefined) {
    const message = `Invalid value for the reasoning effort. Supported values are: ${Object.keys(REASONING_TOKENS).join(", ")}.`;
    throw new Refusal("invalid", message, "reasoning_effort", "invalid_value");
  }
  return tokens === 0 ? undefined : { tokens, summary: wish["summary"] != null };
}

function readNumber(body: JsonObject, name: string, least: number, most: number): number | undefined {
  const value = body[name];
  if (value == null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
  const message = `Invalid '${name}': expected an integer from ${least} to ${most}.`;
  throw new Refusal("invalid", message, name, "invalid_value");
}
