// Reads the JSON body of a request. What must be refused is refused while it arrives, the rest of it unread; and the
// loop is never kept long: a long body is looked at chunk by chunk, parsed in slices, and one after another.
import { isUtf8 } from "node:buffer";
import { setImmediate as otherWork } from "node:timers/promises";
import { ServiceError } from "@gr/proto";
import type { FastifyRequest } from "fastify";
import { ArrivingBytes } from "./arriving-bytes.ts";
import { announcedLength, incomingBodyOf } from "./incoming-body.ts";
import { guardJson, JsonGuard } from "./json-guard.ts";
import { parseInSlices } from "./parse-in-slices.ts";

/** Up to here JSON.parse takes a few milliseconds at most. */
const LONG_BODY = 256 * 1024;
/** Of a long body, so much is looked at a time for what is no UTF-8. */
const UTF8_SLICE = 4 * 1024 * 1024;
/** Room for so much is made first, and more as it comes: what is announced need not come. */
const FIRST_ROOM = { announced: 1024 * 1024, unannounced: 16 * 1024 };

export interface JsonBody {
  readonly bytes: Buffer;
  /** Undefined when nobody has asked for it. */
  readonly value: unknown;
}

/** What has been looked at already, so that whoever is handed the bytes does not do it again. */
const guarded = new WeakSet<Buffer>();
const parsed = new WeakMap<Buffer, unknown>();

/** Long bodies are parsed one after another. */
let parsing: Promise<unknown> = Promise.resolve();

/** @throws ServiceError invalid_json, body_too_large, or that of the module's body rules, without waiting for the rest of the body */
export async function readJsonBody(
  request: FastifyRequest,
  payload: NodeJS.ReadableStream,
  wantsValue: boolean,
): Promise<JsonBody> {
  const bytes = await readGuarded(request, payload);
  guarded.add(bytes);
  if (bytes.length > LONG_BODY) parsed.set(bytes, await parseLong(bytes));
  return { bytes, value: wantsValue ? parseJsonBytes(bytes) : undefined };
}

/**
 * JSON of valid UTF-8 that json-guard.ts lets pass. Of a body that `readJsonBody` has read, costs little.
 * @throws ServiceError invalid_json
 */
export function parseJsonBytes(bytes: Buffer): unknown {
  if (parsed.has(bytes)) {
    const value = parsed.get(bytes);
    // Asked for once; the bytes may live much longer than whoever needs the value.
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

function readGuarded(request: FastifyRequest, payload: NodeJS.ReadableStream): Promise<Buffer> {
  const limit = request.routeOptions.bodyLimit;
  const announced = announcedLength(request);
  const incoming = incomingBodyOf(request);
  return new Promise((resolve, reject) => {
    if (announced !== undefined && announced > limit) {
      reject(tooLarge(limit));
      return;
    }
    // Throws as `reject` does.
    incoming?.expect(announced ?? 0);
    const guard = new JsonGuard();
    const first = announced === undefined ? FIRST_ROOM.unannounced : FIRST_ROOM.announced;
    const arriving = new ArrivingBytes(first, announced ?? limit);
    const stop = () => {
      payload.off("data", take);
      payload.off("end", end);
      payload.off("error", fail);
    };
    const fail = (error: unknown) => {
      stop();
      payload.pause();
      reject(error as Error);
    };
    const take = (chunk: Buffer) => {
      try {
        if (arriving.length + chunk.length > limit) throw tooLarge(limit);
        incoming?.take(chunk.length);
        guard.push(chunk);
        arriving.push(chunk);
      } catch (error) {
        fail(error);
      }
    };
    const end = () => {
      stop();
      if (announced !== undefined && announced !== arriving.length) reject(wrongLength());
      else resolve(arriving.whole());
    };
    payload.on("data", take);
    payload.once("end", end);
    payload.once("error", fail);
    payload.resume();
  });
}

function parseLong(bytes: Buffer): Promise<unknown> {
  const mine = parsing.then(() => parseSlowly(bytes));
  parsing = mine.catch(() => undefined);
  return mine;
}

async function parseSlowly(bytes: Buffer): Promise<unknown> {
  refuseByteOrderMark(bytes);
  try {
    await refuseOtherEncodings(bytes);
    const slices = parseInSlices(bytes);
    for (;;) {
      const slice = slices.next();
      if (slice.done === true) return slice.value;
      await otherWork();
    }
  } catch (error) {
    throw invalid(error);
  }
}

/** @throws SyntaxError when the bytes are not UTF-8 */
async function refuseOtherEncodings(bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const full = Math.min(bytes.length, at + UTF8_SLICE);
    let end = full;
    // No character is cut in two: it has three bytes at most behind its first.
    while (end < bytes.length && end > full - 3 && isWithinCharacter(bytes[end] as number)) end -= 1;
    if (!isUtf8(bytes.subarray(at, end))) throw new SyntaxError("not UTF-8");
    at = end;
    await otherWork();
  }
}

function isWithinCharacter(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

const BYTE_ORDER_MARK = Buffer.from("\ufeff");

function refuseEmpty(bytes: Buffer): void {
  if (bytes.byteLength === 0) {
    throw new ServiceError("invalid_json", "The body is empty, but the content type is application/json.");
  }
  refuseByteOrderMark(bytes);
}

/** Some parsers would skip it; text bodies, which go upstream as they are, cannot have one either. */
function refuseByteOrderMark(bytes: Buffer): void {
  if (BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.byteLength))) {
    throw new ServiceError("invalid_json", "The body is not valid JSON: it begins with a byte order mark.");
  }
}

function invalid(cause: unknown): ServiceError {
  return new ServiceError("invalid_json", "The body is not valid JSON.", { cause });
}

function tooLarge(limit: number): ServiceError {
  return new ServiceError("body_too_large", `The request body is larger than ${limit} bytes.`);
}

function wrongLength(): ServiceError {
  return new ServiceError("invalid_json", "The body's size does not match its Content-Length header.");
}
