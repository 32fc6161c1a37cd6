// A chat stream is one streamed answer of a text model: its words and calls of tools as they arrive, and its charge,
// tokens and times at the end.
import { type ApiRequest, generate } from "../../../api/public-api.ts";
import { type ChatPart, readChat, type ToolCallPart } from "../../../api/read-chat.ts";
import { decimalText, roundedUpUsd } from "../../../parts/figures/figure-text.ts";
import type { Message, ToolCall } from "../drafts.ts";

export type ChatAnswer = Pick<
  Message,
  "content" | "requestId" | "charged" | "tokensIn" | "tokensOut" | "firstMs" | "tookMs"
> & { readonly toolCalls: readonly ToolCall[] };

export interface ChatEnd {
  readonly answer: ChatAnswer;
  /** Reason of an end before the whole answer; undefined also after the caller's own abort. */
  readonly error?: unknown;
  readonly isWhole: boolean;
}

/** @param show receives each state of the answer */
export async function streamChat(
  account: string,
  request: ApiRequest,
  signal: AbortSignal,
  show: (answer: ChatAnswer) => void,
): Promise<ChatEnd> {
  const began = performance.now();
  const passed = () => Math.round(performance.now() - began);
  let answer: ChatAnswer = { content: "", toolCalls: [] };
  const change = (fields: Partial<ChatAnswer>) => {
    answer = { ...answer, ...fields };
    show(answer);
  };
  try {
    const response = await generate(account, request, signal);
    const requestId = response.headers.get("x-request-id");
    if (requestId !== null) change({ requestId });
    for await (const part of readChat(response)) {
      if (answer.firstMs === undefined && hasWords(part)) change({ firstMs: passed() });
      change(afterPart(answer, part));
    }
    change({ tookMs: passed() });
    return { answer, isWhole: true };
  } catch (error) {
    change({ tookMs: passed() });
    return { answer, isWhole: false, ...(!signal.aborted && { error }) };
  }
}

const hasWords = ({ text, toolCalls }: ChatPart) => text !== "" || toolCalls.length > 0;

function afterPart(answer: ChatAnswer, { text, toolCalls, usage }: ChatPart): Partial<ChatAnswer> {
  return {
    content: answer.content + text,
    toolCalls: toolCalls.reduce(withCallPart, answer.toolCalls),
    ...(usage?.cost !== undefined && { charged: roundedUpUsd(decimalText(usage.cost)) }),
    ...(usage?.prompt_tokens !== undefined && { tokensIn: usage.prompt_tokens }),
    ...(usage?.completion_tokens !== undefined && { tokensOut: usage.completion_tokens }),
  };
}

function withCallPart(calls: readonly ToolCall[], part: ToolCallPart): readonly ToolCall[] {
  const before = calls[part.index] ?? { id: "", name: "", arguments: "" };
  const after = {
    id: part.id ?? before.id,
    name: before.name + (part.function?.name ?? ""),
    arguments: before.arguments + (part.function?.arguments ?? ""),
  };
  return part.index < calls.length
    ? calls.map((call, index) => (index === part.index ? after : call))
    : [...calls, after];
}
