// What the text models say: a short friendly answer that quotes the last message, or exactly as many
// tokens as the message asks for with `#tokens=<number>`.
import { MOST_OUTPUT_TOKENS } from "./models.ts";
import type { TextRequest } from "./text-request.ts";
import { splitTokens } from "./tokens.ts";

export interface Reply {
  readonly tokens: readonly string[];
  /** `length` when the caller's limit cut the answer. */
  readonly finish: "stop" | "length";
}

const DIRECTIVE = "#tokens=";
const LONGEST_QUOTE = 90;
const OPENING = splitTokens("Hello from the sandbox! You said: “");
const CLOSING = splitTokens("” No real model was asked: this answer was made on the spot, just for you.");
const SILENCE = splitTokens("You sent no message, which is a fine way to begin");
const FILLER = splitTokens(
  " The sandbox keeps talking so that you can watch a long answer arrive, one small piece after another, as steadily as rain on a tin roof.",
);

export function composeReply(request: TextRequest): Reply {
  const asked = askedTokens(request.lastUserText);
  const natural = naturalTokens(request);
  const tokens = asked === undefined ? natural : stretch(natural, asked);
  const limit = Math.min(request.outputLimit ?? MOST_OUTPUT_TOKENS, MOST_OUTPUT_TOKENS);
  if (tokens.length <= limit) return { tokens, finish: "stop" };
  return { tokens: tokens.slice(0, limit), finish: "length" };
}

function naturalTokens(request: TextRequest): string[] {
  const quote = shorten(request.lastUserText);
  const tokens = OPENING.concat(quote === "" ? SILENCE : splitTokens(quote), CLOSING);
  if (request.images === 0) return tokens;
  return tokens.concat(
    splitTokens(` I also received ${request.images} image${request.images === 1 ? "" : "s"}.`),
  );
}

function shorten(text: string): string {
  const trimmed = text.slice(0, LONGEST_QUOTE * 4).trim();
  if (trimmed.length <= LONGEST_QUOTE) return trimmed;
  const cut = trimmed.slice(0, LONGEST_QUOTE).replace(/[\uD800-\uDBFF]$/, "");
  return `${cut.trimEnd()}…`;
}

function askedTokens(text: string): number | undefined {
  const at = text.lastIndexOf(DIRECTIVE);
  if (at < 0) return undefined;
  const digits = /^\d{1,6}/.exec(text.slice(at + DIRECTIVE.length, at + DIRECTIVE.length + 6))?.[0];
  if (digits === undefined) return undefined;
  return Math.min(Math.max(Number(digits), 1), MOST_OUTPUT_TOKENS);
}

function stretch(tokens: string[], length: number): string[] {
  const stretched = tokens.slice(0, length);
  while (stretched.length < length) stretched.push(FILLER[stretched.length % FILLER.length] ?? " …");
  return stretched;
}
