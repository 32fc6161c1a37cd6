// Directives are words in the last user message that fix an answer: its length, its text, or its tool call. They script
// a client that edits files, for example. Text that is no valid directive has no effect.
import { isObject } from "../request/request-fields.ts";
import type { FunctionTool } from "../text/answer-options.ts";
import { MOST_OUTPUT_TOKENS } from "../text/models.ts";

const LENGTH = "#tokens=";
const CALL = "#call=";
const ANSWER = "#answer=";

export interface ScriptedCall {
  readonly name: string;
  /** Arguments as JSON. */
  readonly arguments: string;
}

/** Returns the length in tokens of `#tokens=500`; undefined without the directive. */
export function scriptedLength(message: string): number | undefined {
  const digits = /^\d{1,6}/.exec(behind(message, LENGTH) ?? "")?.[0];
  if (digits === undefined) return undefined;
  return Math.min(Math.max(Number(digits), 1), MOST_OUTPUT_TOKENS);
}

/** Returns the text of `#answer="…"`, a JSON string; undefined without the directive. */
export function scriptedText(message: string): string | undefined {
  const value = jsonBehind(message, ANSWER);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the call of `#call={"name": …, "arguments": {…}}`; undefined if the request does not offer the tool. */
export function scriptedCall(message: string, tools: readonly FunctionTool[]): ScriptedCall | undefined {
  const value = jsonBehind(message, CALL);
  if (!isObject(value)) return undefined;
  const tool = tools.find(({ name }) => name === value["name"]);
  if (tool === undefined || !isObject(value["arguments"])) return undefined;
  return { name: tool.name, arguments: JSON.stringify(value["arguments"]) };
}

function behind(message: string, directive: string): string | undefined {
  const at = message.lastIndexOf(directive);
  return at < 0 ? undefined : message.slice(at + directive.length);
}

/** Returns the JSON string or object behind a directive; any text may follow it. */
function jsonBehind(message: string, directive: string): unknown {
  const text = behind(message, directive);
  const end = text === undefined ? 0 : endOfJson(text);
  if (text === undefined || end === 0) return undefined;
  try {
    return JSON.parse(text.slice(0, end));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

/** Returns the length of the string or object at the start of a text; 0 if it does not end. */
function endOfJson(text: string): number {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[^"]/g)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    if (depth === 0) return index + token.length;
  }
  return 0;
}
