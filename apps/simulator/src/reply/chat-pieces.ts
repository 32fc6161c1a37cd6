// The parts of a chat completion that both providers write alike: tool calls, texts of one kind, log probabilities.
import { logprobsOf } from "./log-probabilities.ts";
import type { ReplyChoice, ReplyPart } from "./reply.ts";
import type { ReplyStep } from "./reply-steps.ts";

/** All text of one kind, as JSON; null without any. */
export function textOf({ parts }: ReplyChoice, kind: "text" | "reasoning"): string {
  const tokens = tokensOf(parts, kind);
  return tokens === undefined ? "null" : JSON.stringify(tokens.join(""));
}

/** Content of a delta that adds none, as JSON: null for a choice without text. */
export function noContentOf(choice: ReplyChoice | undefined): string {
  return choice?.parts.some(({ kind }) => kind === "text") ? '""' : "null";
}

/** The member `tool_calls` with a comma before it; empty without calls. */
export function toolCallsOf({ parts }: ReplyChoice): string {
  const calls = parts.flatMap((part) => (part.kind === "call" ? [toolCall(part)] : []));
  return calls.length === 0 ? "" : `,"tool_calls":[${calls.join(",")}]`;
}

function toolCall(call: Extract<ReplyPart, { kind: "call" }>): string {
  return (
    `{"id":"${call.id}","type":"function","function":{"name":${JSON.stringify(call.name)},` +
    `"arguments":${JSON.stringify(call.tokens.join(""))}}}`
  );
}

/** Log probabilities of a whole answer, as JSON. */
export function choiceLogprobs({ parts }: ReplyChoice, alternatives: number | undefined): string {
  const tokens = tokensOf(parts, "text");
  if (alternatives === undefined || tokens === undefined) return "null";
  return `{"content":${logprobsOf(tokens, alternatives)},"refusal":null}`;
}

/** Log probabilities of one token, as JSON. */
export function stepLogprobs({ part, token }: ReplyStep, alternatives: number | undefined): string {
  if (alternatives === undefined || part.kind !== "text") return "null";
  return `{"content":${logprobsOf([token], alternatives)},"refusal":null}`;
}

/**
 * Returns the members `tool_calls` of the deltas of one step: the first delta of a call has its
 * name, later ones its arguments.
 */
export function toolCallDeltas({ part, token, isFirst }: ReplyStep): string[] {
  if (part.kind !== "call") return [];
  const index = `"tool_calls":[{"index":${part.number},`;
  const piece = `${index}"function":{"arguments":${JSON.stringify(token)}}}]`;
  if (!isFirst) return [piece];
  const name = JSON.stringify(part.name);
  return [`${index}"id":"${part.id}","type":"function","function":{"name":${name},"arguments":""}}]`, piece];
}

function tokensOf(parts: readonly ReplyPart[], kind: "text" | "reasoning"): readonly string[] | undefined {
  return parts.find((part) => part.kind === kind)?.tokens;
}
