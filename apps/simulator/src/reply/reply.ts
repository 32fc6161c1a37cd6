// Reply is a text model's answer: a short friendly text that quotes the last message, or the text or length that a
// directive names; tool calls; a value for a schema. Invariant: its length is the billed length.
import type { AnswerFormat } from "../text/answer-options.ts";
import { MOST_OUTPUT_TOKENS } from "../text/models.ts";
import type { TextRequest } from "../text/text-request.ts";
import { splitTokens } from "../text/tokens.ts";
import { scriptedLength, scriptedText } from "./directives.ts";
import { materialOf } from "./material.ts";
import { describePictures, type Picture } from "./picture-facts.ts";
import { chooseCalls, writeExample } from "./tool-calls.ts";

/** A piece of an answer with its own kind. It has at least one token. */
export type ReplyPart =
  | { readonly kind: "reasoning" | "text"; readonly tokens: readonly string[] }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly name: string;
      /** Number within all calls of the answer. */
      readonly number: number;
      /** Tokens of its arguments. */
      readonly tokens: readonly string[];
    };

/** `length` if the client's limit cut the answer. */
export type Finish = "stop" | "length" | "tool_calls";

export interface ReplyChoice {
  readonly parts: readonly ReplyPart[];
  readonly finish: Finish;
}

export interface Reply {
  /** Choices, at least one. */
  readonly choices: readonly ReplyChoice[];
  /** Output tokens of all choices. */
  readonly tokens: number;
  /** Reasoning tokens of all choices. */
  readonly reasoningTokens: number;
}

const LONGEST_QUOTE = 90;
const OPENING = splitTokens("Hello from the sandbox! You said: “");
const TOOL_OPENING = splitTokens("Hello from the sandbox! Your tool answered: “");
const CLOSING = splitTokens("” No real model was asked: this answer was made on the spot, just for you.");
const SILENCE = splitTokens("You sent no message, which is a fine way to begin");
const FILLER = splitTokens(
  " The sandbox keeps talking so that you can watch a long answer arrive, one small piece after another, as steadily as rain on a tin roof.",
);
const THOUGHTS = splitTokens(
  "The sandbox thinks before it answers: it reads the message, looks at what came along with it, and weighs its words.",
);

/** @param pictures of the request, parsed. @throws Refusal for a schema without a possible example */
export function composeReply(request: TextRequest, pictures: readonly Picture[]): Reply {
  const limit = Math.min(request.outputLimit ?? MOST_OUTPUT_TOKENS, MOST_OUTPUT_TOKENS);
  const choices = Array.from({ length: request.options.choices }, (_, index) =>
    cutAt(limit, composeParts(request, pictures, index)),
  );
  const parts = choices.flatMap((choice) => choice.parts);
  return {
    choices,
    tokens: tokensOf(parts),
    reasoningTokens: tokensOf(parts.filter(({ kind }) => kind === "reasoning")),
  };
}

function tokensOf(parts: readonly ReplyPart[]): number {
  return parts.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

function composeParts(request: TextRequest, pictures: readonly Picture[], index: number): ReplyPart[] {
  const { options } = request;
  const parts: ReplyPart[] = [];
  if (options.reasoning !== undefined)
    parts.push({ kind: "reasoning", tokens: stretch(THOUGHTS, options.reasoning.tokens) });
  const material = materialOf(request.lastUserText, pictures);
  const calls = chooseCalls(options, material, request);
  if (calls.length > 0) {
    return parts.concat(
      calls.map(({ id, name, arguments: json }, number) => ({
        kind: "call",
        id,
        name,
        number,
        tokens: jsonTokens(request, json),
      })),
    );
  }
  const { format } = options;
  if (format.kind === "text") parts.push({ kind: "text", tokens: composeText(request, pictures, index) });
  else {
    const schema = format.kind === "schema" ? format.schema : PLAIN_OBJECT;
    parts.push({
      kind: "text",
      tokens: jsonTokens(request, writeExample(schema, material, ownerOf(format))),
    });
  }
  return parts;
}

function jsonTokens({ faults }: TextRequest, json: string): string[] {
  return splitTokens(faults.badJson ? json.slice(0, -1) : json);
}

const PLAIN_OBJECT = { type: "object", properties: { answer: { type: "string" } } };

function ownerOf(format: AnswerFormat): string {
  return format.kind === "schema" ? `response_format '${format.name}'` : "response_format";
}

function composeText(request: TextRequest, pictures: readonly Picture[], index: number): string[] {
  const scripted = scriptedText(request.lastUserText);
  if (scripted !== undefined) return splitTokens(scripted);
  const asked = scriptedLength(request.lastUserText);
  const natural = naturalTokens(request, pictures, index);
  return asked === undefined ? natural : stretch(natural, asked);
}

function naturalTokens(
  { lastUserText, toolResults, options }: TextRequest,
  pictures: readonly Picture[],
  index: number,
): string[] {
  const quote = shorten(toolResults.length > 0 ? toolResults.join(", ") : lastUserText);
  const opening = toolResults.length > 0 ? TOOL_OPENING : OPENING;
  const tokens = opening.concat(quote === "" ? SILENCE : splitTokens(quote), CLOSING);
  if (pictures.length > 0) tokens.push(...splitTokens(` ${describePictures(pictures)}`));
  if (options.choices > 1) tokens.push(...splitTokens(` This is answer ${index + 1} of ${options.choices}.`));
  return tokens;
}

/** Cuts a longer answer at the limit. */
function cutAt(limit: number, parts: readonly ReplyPart[]): ReplyChoice {
  let left = limit;
  const kept: ReplyPart[] = [];
  for (const part of parts) {
    if (left === 0) return { parts: kept, finish: "length" };
    const tokens = part.tokens.slice(0, left);
    kept.push({ ...part, tokens });
    if (tokens.length < part.tokens.length) return { parts: kept, finish: "length" };
    left -= tokens.length;
  }
  return { parts: kept, finish: parts.some(({ kind }) => kind === "call") ? "tool_calls" : "stop" };
}

function shorten(text: string): string {
  const trimmed = text.slice(0, LONGEST_QUOTE * 4).trim();
  if (trimmed.length <= LONGEST_QUOTE) return trimmed;
  const cut = trimmed.slice(0, LONGEST_QUOTE).replace(/[\uD800-\uDBFF]$/, "");
  return `${cut.trimEnd()}…`;
}

function stretch(tokens: readonly string[], length: number): string[] {
  const stretched = tokens.slice(0, length);
  while (stretched.length < length) stretched.push(FILLER[stretched.length % FILLER.length] ?? " …");
  return stretched;
}
