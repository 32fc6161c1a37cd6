// Chat completion chunks: the usage arrives in a late chunk, then [DONE]. A stream without [DONE] was cut off, unless
// its usage had arrived.
import { errorRow } from "@gr/proto";
import { dataOf } from "@gr/runtime";
import { findMember, scanObject } from "../json/json-members.ts";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { readUsage, writeUsage } from "../upstream/usage.ts";
import { type DataSpan, firstData, parseData } from "./event-data.ts";
import { lastWordAfter } from "./finish-reason.ts";
import { EMPTY, PLAIN, type StreamDialect, type StreamSoFar, type Verdict } from "./stream-dialect.ts";

const DONE = Buffer.from("[DONE]");
const FINISH_REASON = Buffer.from('"finish_reason"');

export const chatStream: StreamDialect = {
  markers: [Buffer.from('"usage"'), Buffer.from('"error"'), DONE],
  endsWithUsage: true,

  read(event, kind): Verdict {
    const data = dataOf(event);
    if (data === undefined) return EMPTY;
    if (isDone(event, data)) return { type: "final", usage: undefined, outputBytes: undefined };
    const chunk = parseData(event, data);
    if (chunk === undefined) {
      return { type: "failed", problem: "a chunk is no JSON object", usage: undefined, own: false };
    }
    const member =
      chunk["usage"] == null ? undefined : findMember(event, scanObject(event, data.start), "usage");
    const usage =
      member === undefined ? undefined : readUsage(kind, "chat", chunk["usage"], event, member, chunk);
    const problem = problemOf(chunk);
    if (problem !== undefined) return { type: "failed", problem, usage, own: false, status: statusOf(chunk) };
    return usage === undefined ? PLAIN : { type: "usage", usage };
  },

  addUsage: () => [],

  usageEvent: (soFar, meters, cost) =>
    Buffer.from(`data: ${head(soFar)},"choices":[],"usage":${writeUsage("chat", meters, cost)}}\n\n`),

  failureEvent(soFar, error, usage) {
    const { type, code } = errorRow(error.reason);
    const choice = { index: 0, delta: { content: "" }, finish_reason: "error" };
    const tail = { choices: [choice], error: { message: error.message, type, code } };
    const used = usage === undefined ? "" : `"usage":${usage},`;
    return Buffer.from(`data: ${head(soFar)},${used}${JSON.stringify(tail).slice(1)}\n\n`);
  },

  finishReason: (block) => lastWordAfter(FINISH_REASON, block),

  continuedEvent(soFar, attempt) {
    const choice = { index: 0, delta: { content: "" }, finish_reason: null };
    const tail = JSON.stringify({ choices: [choice], continued: { attempt } });
    return Buffer.from(`data: ${head(soFar)},${tail.slice(1)}\n\n`);
  },

  generationId(soFar) {
    const id = firstChunk(soFar)?.["id"];
    return typeof id === "string" ? id : "";
  },
};

function isDone(event: Buffer, { start, end }: DataSpan): boolean {
  return end - start >= DONE.length && event.toString("latin1", start, end).trim() === "[DONE]";
}

function problemOf({ error, choices }: JsonObject): string | undefined {
  if (error != null) return "the stream has an error event";
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return isObject(first) && first["finish_reason"] === "error" ? "the model failed" : undefined;
}

function statusOf({ error }: JsonObject): number | undefined {
  const code = isObject(error) ? error["code"] : undefined;
  return typeof code === "number" ? code : undefined;
}

/** The members that every chunk of a stream repeats, without the closing brace. */
function head(soFar: StreamSoFar): string {
  const { id = "", created = 0, model = "" } = firstChunk(soFar) ?? {};
  return JSON.stringify({ id, object: "chat.completion.chunk", created, model }).slice(0, -1);
}

function firstChunk({ first }: StreamSoFar): JsonObject | undefined {
  return first === undefined ? undefined : firstData(first);
}
