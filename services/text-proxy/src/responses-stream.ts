// Events of the Responses API: the usage comes with the last one, response.completed or response.incomplete. A
// stream that ends without one of them was cut off.
import { errorRow } from "@gr/proto";
import { firstData, parseData } from "./event-data.ts";
import { findMember, type ObjectLayout, scanObject } from "./json-members.ts";
import { setMember } from "./json-splice.ts";
import { isObject, type JsonObject } from "./request-fields.ts";
import { dataOf } from "./sse-splitter.ts";
import { EMPTY, PLAIN, type StreamDialect, type StreamSoFar, type Verdict } from "./stream-dialect.ts";
import { readUsage } from "./usage.ts";

const SEQUENCE = /"sequence_number"\s*:\s*(\d{1,15})/g;

export const responsesStream: StreamDialect = {
  markers: [
    Buffer.from('"response.completed"'),
    Buffer.from('"response.incomplete"'),
    Buffer.from('"response.failed"'),
    Buffer.from('"error"'),
  ],
  endsWithUsage: false,

  read(event, kind): Verdict {
    const data = dataOf(event);
    if (data === undefined) return EMPTY;
    const payload = parseData(event, data);
    // [DONE], which some upstreams add, is no JSON either.
    if (payload === undefined) return PLAIN;
    const { type, response } = payload;
    if (type === "error" || payload["error"] != null) {
      return { type: "failed", problem: problemOf(payload), usage: undefined, own: false };
    }
    const isFinal = type === "response.completed" || type === "response.incomplete";
    if (!isFinal && type !== "response.failed") return PLAIN;
    const layout = responseLayout(event, data.start);
    if (layout === undefined || !isObject(response)) {
      return { type: "failed", problem: "the last event has no response", usage: undefined, own: false };
    }
    const member = findMember(event, layout, "usage");
    const usage =
      member === undefined ? undefined : readUsage("responses", kind, response["usage"], event, member);
    if (!isFinal) return { type: "failed", problem: problemOf(response), usage, own: true };
    const output = findMember(event, layout, "output");
    return {
      type: "final",
      usage,
      outputBytes: output === undefined ? 0 : output.valueEnd - output.valueStart,
    };
  },

  addUsage(event, usage) {
    const data = dataOf(event);
    const layout = data === undefined ? undefined : responseLayout(event, data.start);
    return layout === undefined ? undefined : [setMember(event, layout, "usage", usage)];
  },

  usageEvent: () => Buffer.alloc(0),

  failureEvent(soFar, error) {
    const { code } = errorRow(error.reason);
    const response = {
      ...startedResponse(soFar),
      object: "response",
      status: "failed",
      error: { code: code ?? "provider_error", message: error.message },
      incomplete_details: null,
      output: [],
      usage: null,
    };
    const payload = { type: "response.failed", sequence_number: nextSequence(soFar), response };
    return Buffer.from(`event: response.failed\ndata: ${JSON.stringify(payload)}\n\n`);
  },

  generationId(soFar) {
    const { id } = startedResponse(soFar);
    return typeof id === "string" ? id : "";
  },
};

function responseLayout(event: Buffer, start: number): ObjectLayout | undefined {
  const member = findMember(event, scanObject(event, start), "response");
  return member !== undefined && event[member.valueStart] === 0x7b
    ? scanObject(event, member.valueStart)
    : undefined;
}

/** The error of an event: flat in the documentation, nested on the wire. */
function problemOf(payload: JsonObject): string {
  const { error } = payload;
  const message = isObject(error) ? error["message"] : payload["message"];
  return typeof message === "string" ? message : "the stream has an error event";
}

/** What is known of the response from its first event. */
function startedResponse({ first }: StreamSoFar): JsonObject {
  const response = first === undefined ? undefined : firstData(first)?.["response"];
  if (!isObject(response)) return { id: "", created_at: 0, model: "" };
  const { id = "", created_at = 0, model = "" } = response;
  return { id, created_at, model };
}

function nextSequence({ last }: StreamSoFar): number {
  if (last === undefined) return 0;
  const found = [...last.toString("latin1").matchAll(SEQUENCE)].at(-1)?.[1];
  return found === undefined ? 0 : Number(found) + 1;
}
