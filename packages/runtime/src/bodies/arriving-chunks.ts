// Arriving chunks have memory outside of V8's heap, and V8 collects all garbage of the process for each 64 MB of them.
// A chunk without a further reader is therefore freed at once. The remaining chunks of an answered request arrive in turns with long
// bodies, so that they cost the process no more than a body with a reader.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FastifyRequest } from "fastify";
import { announcedLength, incomingBodyOf } from "./incoming-body.ts";
import { loopTurns } from "./parse-in-turns.ts";

/** Bytes that Node keeps of a body without a reader. */
const KEPT_UNREAD = 64 * 1024;

/** False for injected requests, whose chunks belong to their test. */
function isOfSocket(payload: NodeJS.ReadableStream): payload is IncomingMessage {
  return payload instanceof IncomingMessage && payload.socket instanceof Socket;
}

/** Frees a chunk that nobody reads any more. */
export function freeChunk(payload: NodeJS.ReadableStream, chunk: Buffer): void {
  // Other chunks share their memory.
  if (isOfSocket(payload) && chunk.buffer.byteLength === chunk.length) (chunk.buffer as ArrayBuffer).transfer(0);
}

/** Prevents that Node reads and drops a long body at full speed if the answer precedes its first reader. */
export function holdUnread(request: FastifyRequest): void {
  const { headers, raw } = request;
  if (headers["transfer-encoding"] === undefined && (announcedLength(request) ?? 0) <= KEPT_UNREAD) return;
  // Node drops a body that was never read. This call reads nothing.
  if (isOfSocket(raw)) raw.read(0);
}

/** Reads and drops the remaining body. */
export function dropRemaining(request: FastifyRequest): void {
  const { raw } = request;
  const { owner = request.ip } = incomingBodyOf(request) ?? {};
  const drop = async (chunk: Buffer) => {
    raw.pause();
    await loopTurns.step({ owner, cost: chunk.length }, () => freeChunk(raw, chunk));
    raw.resume();
  };
  raw.unpipe();
  raw.on("data", (chunk: Buffer) => void drop(chunk));
  raw.resume();
}
