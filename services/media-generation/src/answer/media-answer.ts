// MediaAnswer is the answer to a finished generation. It depends on the row and the files alone, so a repeated request
// with the same Idempotency-Key receives the same answer, byte for byte, from any process.
import { type Credits, formatCredits } from "@gr/money";
import { trimSlashes } from "@gr/runtime";
import { z } from "zod";
import type { CountedTokens, MediaOrder } from "../generation/generation.ts";
import { MEDIA_PATH } from "../storage/media-routes.ts";
import { type AnswerFile, base64Length, base64Of } from "./answer-files.ts";

export const mediaAnswerSchema = z.object({
  created: z.number().int().describe("Unix seconds"),
  data: z.array(z.object({ url: z.string().optional(), b64_json: z.string().optional() })),
  latency: z.number().int().describe("milliseconds from the request to its end"),
  cost: z.number().describe("USD charged"),
});
export type MediaAnswer = z.infer<typeof mediaAnswerSchema>;

/** The same answer as text, for answers with files in them. */
export interface MediaAnswerText {
  readonly type: "application/json; charset=utf-8" | "text/event-stream";
  /** Length of the whole text, in bytes. */
  readonly length: number;
  pieces(): AsyncGenerator<string>;
}

export interface Finished {
  readonly charge: Credits;
  /** Unix milliseconds. */
  readonly finishedAt: number;
  /** Names of the hosted files. */
  readonly outputs: readonly string[];
  /** Undefined if the provider counted none. */
  readonly tokens?: CountedTokens | undefined;
}

/**
 * @param files ignored if the answer has URLs
 * @param publicBaseUrl the gateway's address for clients
 */
export function mediaAnswer(
  order: Pick<MediaOrder, "request" | "createdAt">,
  finished: Finished,
  files: readonly AnswerFile[],
  publicBaseUrl: string,
): MediaAnswer | MediaAnswerText {
  if (order.request.response_format !== "url") return textOf(answerWith([], order, finished), files);
  return answerWith(
    finished.outputs.map((name) => ({ url: mediaUrl(publicBaseUrl, name) })),
    order,
    finished,
  );
}

export function answerWith(
  data: MediaAnswer["data"],
  { createdAt }: Pick<MediaOrder, "createdAt">,
  { charge, finishedAt }: Finished,
): MediaAnswer {
  return {
    created: Math.floor(finishedAt / 1_000),
    data,
    latency: Math.max(0, finishedAt - createdAt),
    // Four decimals: the nearest double prints as exactly these.
    cost: Number(formatCredits(charge)),
  };
}

function textOf(answer: MediaAnswer, files: readonly AnswerFile[]): MediaAnswerText {
  const [before = "", after = ""] = JSON.stringify(answer).split("[]");
  const [head, open, close, tail] = [`${before}[`, '{"b64_json":"', '"}', `]${after}`];
  const texts = files.map(({ size }) => open.length + base64Length(size) + close.length);
  const commas = Math.max(0, files.length - 1);
  return {
    type: "application/json; charset=utf-8",
    length: head.length + texts.reduce((sum, length) => sum + length, commas) + tail.length,
    pieces: async function* () {
      yield head;
      for (const [index, file] of files.entries()) {
        yield index === 0 ? open : `,${open}`;
        yield* base64Of(file);
        yield close;
      }
      yield tail;
    },
  };
}

/** Returns the public URL of a hosted file. */
export function mediaUrl(publicBaseUrl: string, name: string): string {
  return `${trimSlashes(publicBaseUrl)}${MEDIA_PATH}/${name}`;
}
