// ToolCalls choose the tools that an answer calls, and their arguments. By default, an answer calls tools once
// per user message: the call that a directive names, the tools that the message names, else the one that shares most
// words with it. After a tool result, the answer is text; if a call is required, it is of a tool without a call yet.
import { randomUUID } from "node:crypto";
import { Refusal } from "../request/refusal.ts";
import type { AnswerOptions, FunctionTool } from "../text/answer-options.ts";
import { scriptedCall, scriptedText } from "./directives.ts";
import { exampleOf, type Material, UnmakeableSchema } from "./json-example.ts";

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON. */
  readonly arguments: string;
}

/** The last user message, and the tools since then. */
export interface ToolsSoFar {
  readonly lastUserText: string;
  readonly toolResults: readonly string[];
  /** Names of the called tools. */
  readonly calledTools: ReadonlySet<string>;
}

/** @throws Refusal */
export function chooseCalls(options: AnswerOptions, material: Material, soFar: ToolsSoFar): ToolCall[] {
  const scripted = scriptedCall(soFar.lastUserText, options.tools);
  if (options.toolChoice === "auto" && scripted !== undefined && soFar.toolResults.length === 0)
    return [{ id: callId(), ...scripted }];
  if (options.toolChoice === "auto" && scriptedText(soFar.lastUserText) !== undefined) return [];
  return chosenTools(options, material.text, soFar).map((tool) => ({
    id: callId(),
    name: tool.name,
    arguments: writeExample(
      tool.parameters ?? { type: "object", properties: {} },
      material,
      `function '${tool.name}'`,
    ),
  }));
}

const callId = () => `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;

/** @param owner name of the schema's owner, for an error message. @throws Refusal */
export function writeExample(schema: unknown, material: Material, owner: string): string {
  try {
    return JSON.stringify(exampleOf(schema, material));
  } catch (error) {
    if (!(error instanceof UnmakeableSchema)) throw error;
    const message = `Invalid schema for ${owner}: the sandbox cannot make an example of it. ${error.message}`;
    throw new Refusal("invalid", message, null, "invalid_schema");
  }
}

function chosenTools(
  { tools: offered, toolChoice, parallelCalls }: AnswerOptions,
  text: string,
  { toolResults, calledTools }: ToolsSoFar,
): FunctionTool[] {
  if (toolChoice === "none" || offered.length === 0) return [];
  if (typeof toolChoice === "object")
    return offered.filter(({ name }) => name === toolChoice.name).slice(0, 1);
  if (toolChoice === "auto" && toolResults.length > 0) return [];
  const uncalled = offered.filter(({ name }) => !calledTools.has(name));
  const tools = uncalled.length === 0 ? offered : uncalled;
  const words = wordsOf(text);
  const names = new Set(text.split(/[^\w-]+/));
  const named = tools.filter(({ name }) => names.has(name));
  if (named.length > 0) return parallelCalls ? named : named.slice(0, 1);
  const scores = tools.map(
    ({ name, description }) =>
      [...new Set([...wordsOf(name), ...wordsOf(description)])].filter((word) => words.has(word)).length,
  );
  return tools.slice(scores.indexOf(Math.max(...scores))).slice(0, 1);
}

/** Returns the words with at least four characters, in small letters: `getWeather` and `get_weather` are two words. */
function wordsOf(text: string): Set<string> {
  const apart = text.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return new Set(apart.match(/[\p{L}\p{N}]{4,}/gu) ?? []);
}
