// readJsonBody reads the JSON body of a request. A refusal is sent while the body arrives, the remaining bytes unread.
// A long body is checked chunk by chunk and parsed in slices, both in turns with bodies of other accounts, so the loop
// is never blocked for long.
import { isUtf8 } from "node:buffer";
import { ServiceError } from "@gr/proto";
import type { FastifyRequest } from "fastify";
import { ArrivingBytes, freeChunk } from "./arriving-bytes.ts";
import { FairGate, type FairWork } from "./fair-gate.ts";
import { announcedLength, byteCounter, incomingBodyOf } from "./incoming-body.ts";
import { guardJson, JsonGuard, OF_REQUESTS } from "./json-guard.ts";
import type { LongStrings, ObjectLayout, ParsedJson } from "./parse-in-slices.ts";
import { LONG_JSON, loopTurns, parseInTurns } from "./parse-in-turns.ts";

/** Messages of refusals, shared with the refusals of Fastify's own parsers. */
export const BODY_MESSAGES = {
  empty: "The body is empty, but the content type is application/json.",
  invalid: "The body is not valid JSON.",
  otherType: (types: string) => `This content type is not supported here; send ${types}.`,
  wrongLength: "The body's size does not match its Content-Length header.",
} as const;

/** Bytes of a long body that are checked for UTF-8 in one step. */
const UTF8_SLICE = 4 * 1024 * 1024;
/** Bytes of the first buffer, which grows on arrival, because announced bytes may never arrive. */
const FIRST_ROOM = { announced: 1024 * 1024, unannounced: 16 * 1024 };

export interface JsonBody {
  readonly bytes: Buffer;
  /** Undefined if it was not requested. */
  readonly value: unknown;
}

/** Checked bytes and parsed values, so that a later reader of the bytes does not repeat the work. */
const guarded = new WeakSet<Buffer>();
const parsed = new WeakMap<Buffer, unknown>();
const layouts = new WeakMap<Buffer, ObjectLayout>();

/** Bounds the values that are half parsed. Their bytes wait, and count in the module's ByteBudget. */
const parses = new FairGate({
  places: 2,
  perOwner: 1,
  waitingPerOwner: 64,
  waiting: 512,
  name: "long bodies",
});

/**
 * @throws ServiceError invalid_json, body_too_large, or the error of the module's body rules, without waiting for the
 * rest of the body
 */
export async function readJsonBody(
  request: FastifyRequest,
  payload: NodeJS.ReadableStream,
  wantsValue: boolean,
): Promise<JsonBody> {
  const { owner = request.ip, signal } = incomingBodyOf(request) ?? {};
  const work = { owner, signal };
  const arrived = await readGuarded(request, payload, work);
  const bytes = arrived.length > LONG_JSON ? await readLong(request, arrived, work) : arrived.wholeAtOnce();
  guarded.add(bytes);
  return { bytes, value: wantsValue ? parseJsonBytes(bytes) : undefined };
}

/** Joins and parses the bytes of few bodies at a time: a body that is joined has twice its size. */
async function readLong(request: FastifyRequest, arrived: ArrivingBytes, work: FairWork): Promise<Buffer> {
  const { longStrings = "whole" } = request.routeOptions.config;
  try {
    return await parses.run({ ...work, cost: arrived.length }, async () => {
      const bytes = await arrived.whole();
      const { value, layout } = await parseSlowly(bytes, work, longStrings);
      parsed.set(bytes, value);
      if (layout !== undefined) layouts.set(bytes, layout);
      return bytes;
    });
  } finally {
    arrived.discard();
  }
}

/**
 * Parses JSON of valid UTF-8 that json-guard.ts accepts. Cheap for a body that `readJsonBody` has read, with
 * the route's `longStrings`.
 * @throws ServiceError invalid_json
 */
export function parseJsonBytes(bytes: Buffer): unknown {
  if (parsed.has(bytes)) {
    const value = parsed.get(bytes);
    // The value is read once; the bytes may live much longer than its reader.
    parsed.delete(bytes);
    return value;
  }
  refuseEmpty(bytes);
  if (!guarded.has(bytes)) guardJson(bytes);
  try {
    if (!isUtf8(bytes)) throw new SyntaxError("not UTF-8");
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw invalid(error);
  }
}

/** Returns the layout of a long object that `readJsonBody` has read: another pass over its bytes would be one long step. */
export function layoutOfLong(bytes: Buffer): ObjectLayout | undefined {
  return layouts.get(bytes);
}

function readGuarded(
  request: FastifyRequest,
  payload: NodeJS.ReadableStream,
  work: FairWork,
): Promise<ArrivingBytes> {
  const limit = request.routeOptions.bodyLimit;
  const announced = announcedLength(request);
  const incoming = incomingBodyOf(request);
  return new Promise((resolve, reject) => {
    // Throws as `reject` does.
    const count = byteCounter(request, { limit, unannounced: limit, excess: () => tooLarge(limit) });
    const guard = new JsonGuard(OF_REQUESTS, incoming?.meter);
    const first = announced === undefined ? FIRST_ROOM.unannounced : FIRST_ROOM.announced;
    const arriving = new ArrivingBytes(Math.min(first, announced ?? limit));
    let checking: Promise<void> | undefined;
    const stop = () => {
      payload.off("data", read);
      payload.off("end", onEnd);
      payload.off("error", fail);
    };
    const fail = (error: unknown) => {
      stop();
      payload.pause();
      arriving.discard();
      reject(error as Error);
    };
    const check = (chunk: Buffer) => {
      guard.push(chunk);
      arriving.push(chunk);
    };
    const checkInTurn = async (chunk: Buffer) => {
      payload.pause();
      await loopTurns.step({ ...work, cost: chunk.length }, () => {
        check(chunk);
        freeChunk(payload, chunk);
      });
      await incoming?.meter?.counted(false);
      checking = undefined;
      payload.resume();
    };
    const read = (chunk: Buffer) => {
      try {
        const arrived = count(chunk.length);
        if ((announced ?? arrived) <= LONG_JSON) check(chunk);
        else {
          checking = checkInTurn(chunk);
          checking.catch(fail);
        }
      } catch (error) {
        fail(error);
      }
    };
    const end = async () => {
      await checking;
      stop();
      if (arriving.length > LONG_JSON) await incoming?.meter?.counted(true);
      if (announced !== undefined && announced !== arriving.length) throw wrongLength();
      resolve(arriving);
    };
    payload.on("data", read);
    const onEnd = () => void end().catch(fail);
    payload.once("end", onEnd);
    payload.once("error", fail);
    payload.resume();
  });
}

async function parseSlowly(bytes: Buffer, work: FairWork, longStrings: LongStrings): Promise<ParsedJson> {
  refuseByteOrderMark(bytes);
  try {
    await refuseOtherEncodings(bytes, work);
    return await parseInTurns(bytes, work, longStrings);
  } catch (error) {
    throw error instanceof SyntaxError ? invalid(error) : error;
  }
}

/** @throws SyntaxError when the bytes are not UTF-8 */
async function refuseOtherEncodings(bytes: Buffer, work: FairWork): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const full = Math.min(bytes.length, at + UTF8_SLICE);
    let end = full;
    // No character is cut in two: it has three bytes at most behind its first.
    while (end < bytes.length && end > full - 3 && isWithinCharacter(bytes[end] as number)) end -= 1;
    const part = bytes.subarray(at, end);
    if (!(await loopTurns.step(work, () => isUtf8(part)))) throw new SyntaxError("not UTF-8");
    at = end;
  }
}

function isWithinCharacter(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

const BYTE_ORDER_MARK = Buffer.from("\ufeff");

function refuseEmpty(bytes: Buffer): void {
  if (bytes.byteLength === 0) {
    throw new ServiceError("invalid_json", BODY_MESSAGES.empty);
  }
  refuseByteOrderMark(bytes);
}

/**
 * Refuses a byte order mark, which some parsers would skip. Text bodies are sent upstream unchanged, so none may
 * contain it.
 */
function refuseByteOrderMark(bytes: Buffer): void {
  if (BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.byteLength))) {
    throw new ServiceError("invalid_json", "The body is not valid JSON: it begins with a byte order mark.");
  }
}

function invalid(cause: unknown): ServiceError {
  return new ServiceError("invalid_json", BODY_MESSAGES.invalid, { cause });
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError("body_too_large", `The request body is larger than ${limit} bytes.`);
}

function wrongLength(): ServiceError {
  return new ServiceError("invalid_json", BODY_MESSAGES.wrongLength);
}
