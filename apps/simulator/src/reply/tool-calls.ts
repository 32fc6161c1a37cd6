// ToolCalls choose the tools that an answer calls, and their arguments. By default, an answer calls tools once
// per user message: the tools that the message names, else the one that shares most words with it. After a
// tool result, the answer is text; if a call is required, it is of a tool that the answer has not called yet.
import { randomUUID } from "node:crypto";
import { Refusal } from "../request/refusal.ts";
import type { AnswerOptions, FunctionTool } from "../text/answer-options.ts";
import { exampleOf, type Material, UnmakeableSchema } from "./json-example.ts";

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON. */
  readonly arguments: string;
}

/** Tools since the user's last message. */
export interface ToolsSoFar {
  readonly toolResults: readonly string[];
  /** Names of the called tools. */
  readonly calledTools: ReadonlySet<string>;
}

/** @throws Refusal */
export function chooseCalls(options: AnswerOptions, material: Material, soFar: ToolsSoFar): ToolCall[] {
  return chosenTools(options, material.text, soFar).map((tool) => ({
    id: `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`,
    name: tool.name,
    arguments: writeExample(
      tool.parameters ?? { type: "object", properties: {} },
      material,
      `function '${tool.name}'`,
    ),
  }));
}

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
  if (typeof toolChoice === "object") return offered.filter(({ name }) => name === toolChoice.name).slice(0, 1);
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
