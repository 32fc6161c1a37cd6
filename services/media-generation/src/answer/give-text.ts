// Sends an answer that has its files in it, as fast as its client reads. Memory is reserved for it until its end, so a client
// that has not read all in time is cut. The port cuts a client that reads nothing. The paid pictures are in the log all the same.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { MediaAnswerText } from "./media-answer.ts";

/** Milliseconds for a client to read all of it. */
const PATIENCE_MS = 300_000;

/** Resolves when it is given, or its client is gone. */
export async function giveText(
  answer: MediaAnswerText,
  reply: FastifyReply,
  patienceMs = PATIENCE_MS,
): Promise<FastifyReply> {
  const { raw } = reply;
  if (raw.destroyed) return reply.hijack();
  const over = new Promise((resolve) => raw.once("close", resolve));
  const late = setTimeout(() => raw.destroy(), patienceMs);
  reply.type("application/json; charset=utf-8").header("content-length", answer.length);
  reply.send(Readable.from(answer.pieces(), { objectMode: false }));
  await over;
  clearTimeout(late);
  return reply;
}
