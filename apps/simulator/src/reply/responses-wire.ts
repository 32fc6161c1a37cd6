// The Responses format of both providers: the answer object and the sequence of stream events.
// Invariant: sequence numbers start at 0 and rise by one; a stream ends with exactly one final event.
import type { OutgoingHttpHeaders } from "node:http";
import type { TextRequest } from "../text/text-request.ts";
import type { TextTerms } from "../text/text-terms.ts";
import type { Usage } from "../text/usage.ts";
import { logprobsOf } from "./log-probabilities.ts";
import type { ReplyPart } from "./reply.ts";
import type { ReplyStep } from "./reply-steps.ts";
import { finishOf, type StreamFrames, type TextAnswer, type TextWire } from "./text-exchange.ts";

/** Parts of the responses API that differ between the providers. */
export interface ResponsesDialect {
  headers(answer: TextAnswer): OutgoingHttpHeaders;
  usage(usage: Usage): string;
  /** Sent before the first event. */
  readonly greeting: string;
  /** Sent after the last event. */
  readonly farewell: string;
  readonly storesByDefault: boolean;
}

type Status = "in_progress" | "completed" | "incomplete";

export function responsesWire(dialect: ResponsesDialect): TextWire {
  return {
    headers: dialect.headers,
    whole: (answer, usage) => {
      const parts = partsOf(answer, dialect);
      return parts.object(finalStatus(answer), parts.output(), usage);
    },
    frames: (answer) => streamFrames(answer, dialect),
  };
}

function streamFrames(answer: TextAnswer, dialect: ResponsesDialect): StreamFrames {
  const parts = partsOf(answer, dialect);
  let sequence = 0;
  const event = (type: string, fields: string): string =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence++},${fields}}\n\n`;

  /** Events before the first token of an item. */
  function begin({ part, at }: ReplyStep, place: string): string {
    const added = event(
      "response.output_item.added",
      `"output_index":${at},"item":${parts.item(at, "in_progress", true)}`,
    );
    if (part.kind === "text") {
      return (
        added +
        event("response.content_part.added", `${place},"content_index":0,"part":${textPart([], undefined)}`)
      );
    }
    if (!parts.summarizes(part)) return added;
    return (
      added +
      event("response.reasoning_summary_part.added", `${place},"summary_index":0,"part":${summaryPart("")}`)
    );
  }

  function piece(step: ReplyStep, place: string): string {
    const { part, token } = step;
    const delta = JSON.stringify(token);
    if (part.kind === "call")
      return event("response.function_call_arguments.delta", `${place},"delta":${delta}`);
    if (part.kind === "text") {
      const likely = logprobsOf([token], answer.request.options.logprobs);
      return event(
        "response.output_text.delta",
        `${place},"content_index":0,"delta":${delta},"logprobs":${likely}`,
      );
    }
    if (!parts.summarizes(part)) return "";
    return event("response.reasoning_summary_text.delta", `${place},"summary_index":0,"delta":${delta}`);
  }

  /** Events after the last token of an item. */
  function finish({ part, at }: ReplyStep, place: string): string {
    const text = part.tokens.join("");
    const done = () =>
      event("response.output_item.done", `"output_index":${at},"item":${parts.item(at, parts.status(at))}`);
    if (part.kind === "call") {
      const call = `${place},"name":${JSON.stringify(part.name)},"arguments":${JSON.stringify(text)}`;
      return event("response.function_call_arguments.done", call) + done();
    }
    if (part.kind === "text") {
      const { logprobs } = answer.request.options;
      const whole = `"text":${JSON.stringify(text)},"logprobs":${logprobsOf(part.tokens, logprobs)}`;
      return (
        event("response.output_text.done", `${place},"content_index":0,${whole}`) +
        event(
          "response.content_part.done",
          `${place},"content_index":0,"part":${textPart(part.tokens, logprobs)}`,
        ) +
        done()
      );
    }
    if (!parts.summarizes(part)) return done();
    return (
      event(
        "response.reasoning_summary_text.done",
        `${place},"summary_index":0,"text":${JSON.stringify(text)}`,
      ) +
      event(
        "response.reasoning_summary_part.done",
        `${place},"summary_index":0,"part":${summaryPart(text)}`,
      ) +
      done()
    );
  }

  return {
    opening: () => {
      const response = `"response":${parts.object("in_progress", "[]", undefined)}`;
      return dialect.greeting + event("response.created", response) + event("response.in_progress", response);
    },
    step: (step) => {
      const place = `"item_id":"${parts.itemId(step.at)}","output_index":${step.at}`;
      return (
        (step.isFirst ? begin(step, place) : "") +
        piece(step, place) +
        (step.isLast ? finish(step, place) : "")
      );
    },
    ending: () => "",
    closing: (usage) => {
      const status = finalStatus(answer);
      return (
        event(`response.${status}`, `"response":${parts.object(status, parts.output(), usage)}`) +
        dialect.farewell
      );
    },
  };
}

function finalStatus(answer: TextAnswer): "completed" | "incomplete" {
  return finishOf(answer) === "length" ? "incomplete" : "completed";
}

function textPart(tokens: readonly string[], logprobs: number | undefined): string {
  return (
    `{"type":"output_text","text":${JSON.stringify(tokens.join(""))},"annotations":[],` +
    `"logprobs":${logprobsOf(tokens, logprobs)}}`
  );
}

function summaryPart(text: string): string {
  return `{"type":"summary_text","text":${JSON.stringify(text)}}`;
}

const ITEM_PREFIX: Readonly<Record<ReplyPart["kind"], string>> = { text: "msg", call: "fc", reasoning: "rs" };

/** Returns the repeated parts of an answer: its output items and its response object. */
function partsOf(answer: TextAnswer, dialect: ResponsesDialect) {
  const { request, created } = answer;
  const parts = answer.reply.choices[0]?.parts ?? [];
  const base = answer.id.replace(/^[a-z]+[-_]/, "");
  const echo = echoedFields(request, dialect.storesByDefault);
  const itemId = (at: number) =>
    `${ITEM_PREFIX[parts[at]?.kind ?? "text"]}_${base}${at === 0 ? "" : `_${at}`}`;
  const summarizes = (part: ReplyPart) =>
    part.kind === "reasoning" && request.options.reasoning?.summary === true;
  /** The limit cuts the answer at its last item. */
  const status = (at: number): Status => (at === parts.length - 1 ? finalStatus(answer) : "completed");

  function item(at: number, is: Status, empty = false): string {
    const part = parts[at];
    const head = `{"id":"${itemId(at)}"`;
    if (part?.kind === "call") {
      const args = empty ? "" : part.tokens.join("");
      return (
        `${head},"type":"function_call","status":"${is}","call_id":"${part.id}",` +
        `"name":${JSON.stringify(part.name)},"arguments":${JSON.stringify(args)}}`
      );
    }
    if (part?.kind === "reasoning") {
      const summary = !empty && summarizes(part) ? summaryPart(part.tokens.join("")) : "";
      return `${head},"type":"reasoning","summary":[${summary}]}`;
    }
    const content = empty ? "" : textPart(part?.tokens ?? [], request.options.logprobs);
    return `${head},"type":"message","status":"${is}","role":"assistant","content":[${content}]}`;
  }

  return {
    itemId,
    summarizes,
    status,
    item,
    /** All items in their final form. */
    output: () =>
      `[${[...ranTools(base, request.terms), ...parts.map((_, at) => item(at, status(at)))].join(",")}]`,
    object: (is: Status, output: string, usage: Usage | undefined): string =>
      `{"id":"${answer.id}","object":"response","created_at":${created},"status":"${is}",` +
      `"completed_at":${is === "completed" ? Math.max(created, Math.floor(Date.now() / 1000)) : "null"},` +
      `"background":false,"error":null,` +
      `"incomplete_details":${is === "incomplete" ? '{"reason":"max_output_tokens"}' : "null"},` +
      `"model":"${request.model.id}","output":${output},${echo},` +
      `"usage":${usage === undefined ? "null" : dialect.usage(usage)}}`,
  };
}

/** Calls of tools that the provider ran; those of an interpreter share a container. */
function ranTools(base: string, { items }: TextTerms): string[] {
  return items.map(({ type }, index) => {
    const head = `{"id":"call_${base}_${index}","type":"${type}","status":"completed"`;
    if (type === "web_search_call") return `${head},"action":{"type":"search","query":"sandbox"}}`;
    return type === "code_interpreter_call"
      ? `${head},"container_id":"cntr_${base}","code":"1"}`
      : `${head}}`;
  });
}

/** The client's own parameters, which the response object repeats, with the API's defaults. */
function echoedFields({ body, terms: { tier } }: TextRequest, storesByDefault: boolean): string {
  const echo = (name: string, otherwise: string) =>
    `"${name}":${body[name] == null ? otherwise : JSON.stringify(body[name])}`;
  return [
    echo("instructions", "null"),
    echo("max_output_tokens", "null"),
    echo("metadata", "{}"),
    echo("parallel_tool_calls", "true"),
    echo("previous_response_id", "null"),
    echo("reasoning", '{"effort":null,"summary":null}'),
    `"service_tier":"${tier}"`,
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
