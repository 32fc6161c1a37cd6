// Gives an answer that has its files in it, as fast as its client takes it. Memory is held for it as long: whoever takes
// nothing for a while, or not all in time, is cut. What was paid for is in the log all the same.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { cutWhenStalled } from "../storage/media-routes.ts";
import type { MediaAnswerText } from "./media-answer.ts";

/** Milliseconds for a client to take it: between two looks, and in all. */
export interface Patience {
  readonly stallMs: number;
  readonly mostMs: number;
}

const PATIENCE: Patience = { stallMs: 60_000, mostMs: 300_000 };

/** Resolves when it is given, or its client is gone. */
export async function giveText(
  answer: MediaAnswerText,
  reply: FastifyReply,
  { stallMs, mostMs }: Patience = PATIENCE,
): Promise<FastifyReply> {
  const { raw } = reply;
  if (raw.destroyed) return reply.hijack();
  const over = new Promise((resolve) => raw.once("close", resolve));
  cutWhenStalled(raw, stallMs);
  const late = setTimeout(() => raw.destroy(), mostMs);
  reply.type("application/json; charset=utf-8").header("content-length", answer.length);
  reply.send(Readable.from(answer.pieces(), { objectMode: false }));
  await over;
  clearTimeout(late);
  return reply;
}
