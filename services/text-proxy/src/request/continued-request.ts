// ContinuedRequest continues a stream at another upstream: the client's request, with the received part of the answer
// as the beginning of the assistant's message. Its output limit is reduced by the tokens of that part.
import type { IncomingHttpHeaders } from "node:http";
import { ServiceError } from "@gr/proto";
import { parseJsonBytes } from "@gr/runtime";
import type { Continues } from "@gr/text-upstream";
import { findMember, scanObject } from "../json/json-members.ts";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { applySplices, setMember } from "../json/json-splice.ts";
import { LIMIT_FIELDS, type TextRequest } from "./text-request.ts";

export const CONTINUE_HEADER = "x-continue-elsewhere";

/** Fields that let an upstream continue the last message instead of answering it. */
const FIELDS: Readonly<Record<Continues, readonly (readonly [string, string])[]>> = {
  assistant: [],
  vllm: [
    ["continue_final_message", "true"],
    ["add_generation_prompt", "false"],
  ],
};

/** Returns true if another upstream is to continue a broken stream. @throws ServiceError invalid_value */
export function continuesElsewhere(headers: IncomingHttpHeaders): boolean {
  const value = headers[CONTINUE_HEADER] ?? "false";
  if (value === "true" || value === "false") return value === "true";
  const message = `The ${CONTINUE_HEADER} header must be true or false.`;
  throw new ServiceError("invalid_value", message, { param: CONTINUE_HEADER });
}

/**
 * @param text the part that the client has received. @param tokens of it, at most
 * @returns undefined if the request needs more than plain text, or its limit is reached
 */
export function continuedRequest(
  request: TextRequest,
  { text, tokens }: { readonly text: string; readonly tokens: number },
  how: Continues,
): TextRequest | undefined {
  const { api, bytes, layout, choices, logprobs, predicts, outputLimit } = request;
  if (api !== "chat" || choices !== 1 || logprobs || predicts) return undefined;
  const body = parseJsonBytes(bytes);
  const messages = findMember(bytes, layout, "messages");
  if (!isObject(body) || messages === undefined || !asksForText(body)) return undefined;
  const left = outputLimit === undefined ? undefined : outputLimit - tokens;
  if (left !== undefined && left <= 0) return undefined;
  const at = messages.valueEnd - 1;
  const begun = `,${JSON.stringify({ role: "assistant", content: text })}`;
  const limits = LIMIT_FIELDS.chat.filter((field) => findMember(bytes, layout, field) !== undefined);
  const changed = applySplices(bytes, [
    { start: at, end: at, text: begun },
    ...limits.map((field) => setMember(bytes, layout, field, String(left))),
    ...FIELDS[how].map(([field, value]) => setMember(bytes, layout, field, value)),
  ]);
  return { ...request, bytes: changed, layout: scanObject(changed), outputLimit: left };
}

/** Returns true if the answer is text only, and the client has not begun it itself. */
function asksForText({ messages, response_format: format, modalities, audio }: JsonObject): boolean {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const isText = format == null || (isObject(format) && format["type"] === "text");
  const isWords =
    modalities == null || (Array.isArray(modalities) && modalities.every((one) => one === "text"));
  return isText && isWords && audio == null && isObject(last) && last["role"] !== "assistant";
}
