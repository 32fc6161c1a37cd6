// The Responses format, as both providers speak it: the answer object and the sequence of stream events.
// Invariant: sequence numbers start at 0 and rise by one; a stream ends with exactly one final event.
import type { OutgoingHttpHeaders } from "node:http";
import type { StreamFrames, TextAnswer, TextWire } from "./text-exchange.ts";
import type { JsonObject } from "./text-request.ts";
import type { Usage } from "./usage.ts";

/** Where the providers differ. */
export interface ResponsesDialect {
  headers(answer: TextAnswer): OutgoingHttpHeaders;
  usage(usage: Usage): string;
  /** Sent before the first event. */
  readonly greeting: string;
  /** Sent after the last event. */
  readonly farewell: string;
  readonly storesByDefault: boolean;
}

export function responsesWire(dialect: ResponsesDialect): TextWire {
  return {
    headers: dialect.headers,
    whole: (answer, usage) => {
      const parts = partsOf(answer, dialect);
      return parts.object(
        finalStatus(answer),
        `[${parts.item(finalStatus(answer), answer.reply.tokens.join(""))}]`,
        usage,
      );
    },
    frames: (answer) => streamFrames(answer, dialect),
  };
}

/** The number of events before the first token. */
const EVENTS_BEFORE_TEXT = 4;

function streamFrames(answer: TextAnswer, dialect: ResponsesDialect): StreamFrames {
  const parts = partsOf(answer, dialect);
  const place = `"item_id":"${parts.itemId}","output_index":0,"content_index":0`;
  const { tokens } = answer.reply;
  const after = EVENTS_BEFORE_TEXT + tokens.length;
  const status = finalStatus(answer);
  let item = "";
  return {
    opening: () =>
      dialect.greeting +
      event("response.created", 0, `"response":${parts.object("in_progress", "[]", undefined)}`) +
      event("response.in_progress", 1, `"response":${parts.object("in_progress", "[]", undefined)}`) +
      event(
        "response.output_item.added",
        2,
        `"output_index":0,"item":${parts.item("in_progress", undefined)}`,
      ) +
      event("response.content_part.added", 3, `${place},"part":${textPart("")}`),
    token: (text, index) =>
      event(
        "response.output_text.delta",
        EVENTS_BEFORE_TEXT + index,
        `${place},"delta":${JSON.stringify(text)},"logprobs":[]`,
      ),
    ending: () => {
      const text = tokens.join("");
      item = parts.item(status, text);
      return (
        event("response.output_text.done", after, `${place},"text":${JSON.stringify(text)},"logprobs":[]`) +
        event("response.content_part.done", after + 1, `${place},"part":${textPart(text)}`) +
        event("response.output_item.done", after + 2, `"output_index":0,"item":${item}`)
      );
    },
    closing: (usage) =>
      event(`response.${status}`, after + 3, `"response":${parts.object(status, `[${item}]`, usage)}`) +
      dialect.farewell,
  };
}

function finalStatus(answer: TextAnswer): "completed" | "incomplete" {
  return answer.reply.finish === "length" ? "incomplete" : "completed";
}

function event(type: string, sequence: number, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence},${fields}}\n\n`;
}

function textPart(text: string): string {
  return `{"type":"output_text","text":${JSON.stringify(text)},"annotations":[],"logprobs":[]}`;
}

/** The pieces that one answer repeats: its output item and its response object. */
function partsOf(answer: TextAnswer, dialect: ResponsesDialect) {
  const { request, created } = answer;
  const itemId = `msg_${answer.id.replace(/^[a-z]+[-_]/, "")}`;
  const echo = echoedFields(request.body, dialect.storesByDefault);
  return {
    itemId,
    item: (status: string, text: string | undefined): string =>
      `{"id":"${itemId}","type":"message","status":"${status}","role":"assistant",` +
      `"content":[${text === undefined ? "" : textPart(text)}]}`,
    object: (status: string, output: string, usage: Usage | undefined): string =>
      `{"id":"${answer.id}","object":"response","created_at":${created},"status":"${status}",` +
      `"completed_at":${status === "completed" ? Math.max(created, Math.floor(Date.now() / 1000)) : "null"},` +
      `"background":false,"error":null,` +
      `"incomplete_details":${status === "incomplete" ? '{"reason":"max_output_tokens"}' : "null"},` +
      `"model":"${request.model.id}","output":${output},${echo},` +
      `"usage":${usage === undefined ? "null" : dialect.usage(usage)}}`,
  };
}

/** The caller's own parameters, which the response object repeats, with the API's defaults. */
function echoedFields(body: JsonObject, storesByDefault: boolean): string {
  const echo = (name: string, otherwise: string) =>
    `"${name}":${body[name] == null ? otherwise : JSON.stringify(body[name])}`;
  return [
    echo("instructions", "null"),
    echo("max_output_tokens", "null"),
    echo("metadata", "{}"),
    echo("parallel_tool_calls", "true"),
    echo("previous_response_id", "null"),
    echo("reasoning", '{"effort":null,"summary":null}'),
    echo("service_tier", '"default"'),
    echo("store", String(storesByDefault)),
    echo("temperature", "1"),
    echo("text", '{"format":{"type":"text"}}'),
    echo("tool_choice", '"auto"'),
    echo("tools", "[]"),
    echo("top_p", "1"),
    echo("truncation", '"disabled"'),
    echo("user", "null"),
  ].join(",");
}
