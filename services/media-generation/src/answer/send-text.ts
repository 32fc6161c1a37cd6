// Sends an answer with files in it at the client's speed. Its memory stays reserved until its end, so a
// client that has not read all in time is disconnected. The port disconnects a client that reads nothing. The
// paid pictures stay in the log.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { MediaAnswerText } from "./media-answer.ts";

/** Time for a client to read the whole answer, in milliseconds. */
const PATIENCE_MS = 300_000;

/** Resolves when the answer is sent, or the client has disconnected. */
export async function sendText(
  answer: MediaAnswerText,
  reply: FastifyReply,
  patienceMs = PATIENCE_MS,
): Promise<FastifyReply> {
  if (reply.raw.destroyed) return reply.hijack();
  const sent = untilSent(reply, patienceMs);
  reply.type(answer.type).header("content-length", answer.length);
  reply.send(Readable.from(answer.pieces(), { objectMode: false }));
  return sent;
}

/** Resolves when an answer with a known end is sent, or the client has disconnected. A client that reads too slowly is. */
export async function untilSent(reply: FastifyReply, patienceMs = PATIENCE_MS): Promise<FastifyReply> {
  const { raw } = reply;
  if (raw.closed) return reply;
  const late = setTimeout(() => raw.destroy(), patienceMs);
  await new Promise((resolve) => raw.once("close", resolve));
  clearTimeout(late);
  return reply;
}
