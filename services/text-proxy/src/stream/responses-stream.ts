// Events of the Responses API: the usage is in the last event, response.completed or response.incomplete.
// A stream without one of them at its end was cut off.
import { errorRow } from "@gr/proto";
import { dataOf } from "@gr/runtime";
import { findMember, type ObjectLayout, scanObject } from "../json/json-members.ts";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { setMember } from "../json/json-splice.ts";
import { readUsage } from "../upstream/usage.ts";
import { firstData, parseData } from "./event-data.ts";
import { lastWordAfter } from "./finish-reason.ts";
import { EMPTY, PLAIN, type StreamDialect, type StreamSoFar, type Verdict } from "./stream-dialect.ts";

const COMPLETED = Buffer.from('"response.completed"');
const INCOMPLETE = Buffer.from('"response.incomplete"');
const DETAILS = Buffer.from('"incomplete_details"');
const REASON = Buffer.from('"reason"');
/** Cannot occur within a JSON string, because quotes are escaped there. */
const NO_USAGE = '"usage":null';
const SEQUENCE = /"sequence_number"\s*:\s*(\d{1,15})/g;

const ERROR_EVENT = "the stream has an error event";

export const responsesStream: StreamDialect = {
  markers: [COMPLETED, INCOMPLETE, Buffer.from('"response.failed"'), Buffer.from('"error"')],
  endsWithUsage: false,

  read(event, kind): Verdict {
    const data = dataOf(event);
    const payload = data && parseData(event, data);
    if (data === undefined || payload === undefined) return unreadable(event);
    const { type, response } = payload;
    // An event with another type may report a failed part: a tool, for example.
    if (type === "error" || (type === undefined && payload["error"] != null)) {
      return { type: "failed", problem: ERROR_EVENT, usage: undefined, own: false };
    }
    const isFinal = type === "response.completed" || type === "response.incomplete";
    if (!isFinal && type !== "response.failed") return PLAIN;
    const layout = responseLayout(event, data.start);
    if (layout === undefined || !isObject(response)) {
      if (isFinal) return UNREADABLE_END;
      return { type: "failed", problem: "the last event has no response", usage: undefined, own: false };
    }
    const member = findMember(event, layout, "usage");
    const usage =
      member === undefined
        ? undefined
        : readUsage(kind, "responses", response["usage"], event, member, response);
    if (!isFinal) return { type: "failed", problem: ERROR_EVENT, usage, own: true };
    const output = findMember(event, layout, "output");
    return {
      type: "final",
      usage,
      outputBytes: output === undefined ? 0 : output.valueEnd - output.valueStart,
    };
  },

  addUsage(event, usage) {
    const data = dataOf(event);
    const readable = data !== undefined && parseData(event, data) !== undefined;
    const layout = readable ? responseLayout(event, data.start) : undefined;
    return layout === undefined ? [] : [setMember(event, layout, "usage", usage)];
  },

  usageEvent: () => Buffer.alloc(0),

  failureEvent(soFar, error, usage) {
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
    const data = JSON.stringify(payload).replace(NO_USAGE, (none) => (usage ? `"usage":${usage}` : none));
    return Buffer.from(`event: response.failed\ndata: ${data}\n\n`);
  },

  finishReason(block) {
    if (block.includes(COMPLETED)) return "completed";
    if (!block.includes(INCOMPLETE)) return "";
    return lastWordAfter(REASON, block.subarray(block.lastIndexOf(DETAILS))) || "incomplete";
  },

  // Responses are never continued elsewhere: the API accepts no beginning of an answer.
  continuedEvent: () => Buffer.alloc(0),

  generationId(soFar) {
    const { id } = startedResponse(soFar);
    return typeof id === "string" ? id : "";
  },
};

/** The answer was delivered all the same: its cost is looked up, or metered. */
const UNREADABLE_END: Verdict = { type: "final", usage: undefined, outputBytes: undefined };
const ENDS = ['"response.completed"', '"response.incomplete"'];

/** No JSON, or data in several lines: a comment, [DONE] of some upstreams, or invalid data. */
function unreadable(event: Buffer): Verdict {
  if (ENDS.some((end) => event.includes(end))) return UNREADABLE_END;
  return event.includes("data:") ? PLAIN : EMPTY;
}

function responseLayout(event: Buffer, start: number): ObjectLayout | undefined {
  const member = findMember(event, scanObject(event, start), "response");
  return member !== undefined && event[member.valueStart] === 0x7b
    ? scanObject(event, member.valueStart)
    : undefined;
}

/** Returns the fields of the response from its first event. */
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
