// WholeAnswer is a non-streamed answer: its parsed facts, and its bytes with the cost and the charge included.
import { formatPicoUsd, PICO_PER_CREDIT } from "@gr/money";
import { parseForeignJson, readForeignJson } from "@gr/runtime";
import type { UpstreamKind } from "@gr/text-upstream";
import { findMember, type ObjectLayout, scanObject } from "../json/json-members.ts";
import { isObject, type JsonObject } from "../json/json-object.ts";
import { applySplices, type Splice, setMember } from "../json/json-splice.ts";
import type { TextApi } from "../request/text-request.ts";
import type { TextBill } from "../text-kinds.ts";
import { readUsage, sayCost, type Usage, writeUsage } from "../upstream/usage.ts";

/** Size above which an answer is parsed in turns, in bytes. */
const LONG_ANSWER = 256 * 1024;

export interface WholeAnswer {
  readonly bytes: Buffer;
  readonly layout: ObjectLayout;
  /** The upstream's id of the generation; empty if it sent none. */
  readonly id: string;
  /** Undefined if missing or invalid. */
  readonly usage: Usage | undefined;
  /** Bytes of the part that holds the output. */
  readonly outputBytes: number;
  /** The upstream's finish reason; empty if it sent none. */
  readonly finishReason: string;
  /** Failure of an answer with status 200, in words of this module: the upstream's words may quote the prompt. */
  readonly failure: string | undefined;
}

/** @param body the parsed bytes. @returns undefined for bytes that are no answer of this API */
export function readWholeAnswer(
  api: TextApi,
  kind: UpstreamKind,
  bytes: Buffer,
  body = parseWholeAnswer(bytes),
): WholeAnswer | undefined {
  if (!isObject(body)) return undefined;
  const layout = scanObject(bytes);
  const usage = findMember(bytes, layout, "usage");
  const output = findMember(bytes, layout, api === "chat" ? "choices" : "output");
  const { id } = body;
  return {
    bytes,
    layout,
    id: typeof id === "string" ? id : "",
    usage: usage === undefined ? undefined : readUsage(kind, api, body["usage"], bytes, usage, body),
    outputBytes: output === undefined ? 0 : output.valueEnd - output.valueStart,
    finishReason: finishReasonOf(api, body),
    failure: failureOf(api, body),
  };
}

/** Returns the customer's answer: every byte of the upstream's, plus the charge and, if it is missing, the cost. */
export function pricedAnswer(api: TextApi, { bytes, layout, usage }: WholeAnswer, billed: TextBill): Buffer {
  const splices: Splice[] =
    usage === undefined
      ? [setMember(bytes, layout, "usage", writeUsage(api, billed.meters, billed.cost))]
      : sayCost(usage, billed.cost);
  splices.push(setMember(bytes, layout, "cost", formatPicoUsd(billed.charge * PICO_PER_CREDIT)));
  return applySplices(bytes, splices);
}

/** Parses in turns with other long work; long strings are cut. @returns null for bytes that are no JSON, or exceed its limits */
export async function parseLongAnswer(bytes: Buffer, owner: string): Promise<unknown> {
  if (bytes.length <= LONG_ANSWER) return parseWholeAnswer(bytes);
  try {
    return await readForeignJson(bytes, { owner }, "cut");
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/**
 * Read as Latin-1, which is faster and equivalent: it is JSON exactly if the UTF-8 text is, and every name and number
 * that matters is ASCII.
 */
function parseWholeAnswer(bytes: Buffer): unknown {
  try {
    return parseForeignJson(bytes, "latin1");
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Returns the problem of an answer without usable output, in any form that upstreams send with a 200. */
function failureOf(api: TextApi, body: JsonObject): string | undefined {
  const { error } = body;
  if (error != null) return "it is an error";
  if (api === "responses") return Array.isArray(body["output"]) ? undefined : "there is no output";
  const choices = body["choices"];
  if (!Array.isArray(choices) || choices.length === 0) return "there are no choices";
  const first: unknown = choices[0];
  if (!isObject(first)) return "the first choice is no object";
  if (first["error"] != null) return "the first choice is an error";
  return first["finish_reason"] === "error" ? "the model failed" : undefined;
}

function finishReasonOf(api: TextApi, body: JsonObject): string {
  const choices = body["choices"];
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const details = body["incomplete_details"];
  const reason =
    api === "chat"
      ? isObject(first) && first["finish_reason"]
      : ((isObject(details) ? details["reason"] : undefined) ?? body["status"]);
  return typeof reason === "string" ? reason : "";
}
