// The answer to a finished generation. It follows from the row and the files alone, so that whoever repeats the request
// under the same Idempotency-Key is given the same answer, byte for byte, by whichever process.
import { type Credits, formatCredits } from "@gr/money";
import { z } from "zod";
import type { MediaOrder } from "../generation/generation.ts";
import { MEDIA_PATH } from "../storage/media-routes.ts";

export const mediaAnswerSchema = z.object({
  created: z.number().int().describe("Unix seconds"),
  data: z.array(z.object({ url: z.string().optional(), b64_json: z.string().optional() })),
  latency: z.number().int().describe("milliseconds from the order to its end"),
  cost: z.number().describe("USD charged"),
});
export type MediaAnswer = z.infer<typeof mediaAnswerSchema>;

export interface Finished {
  readonly charge: Credits;
  /** Unix milliseconds. */
  readonly finishedAt: number;
  /** Names of the hosted files. */
  readonly outputs: readonly string[];
}

/**
 * @param files not looked at when the answer has URLs
 * @param publicBaseUrl where clients reach the gateway
 */
export function mediaAnswer(
  { request, createdAt }: Pick<MediaOrder, "request" | "createdAt">,
  { charge, finishedAt, outputs }: Finished,
  files: readonly Buffer[],
  publicBaseUrl: string,
): MediaAnswer {
  return {
    created: Math.floor(finishedAt / 1_000),
    data:
      request.response_format === "url"
        ? outputs.map((name) => ({ url: mediaUrl(publicBaseUrl, name) }))
        : files.map((bytes) => ({ b64_json: bytes.toString("base64") })),
    latency: Math.max(0, finishedAt - createdAt),
    // Four decimals: the nearest double prints as exactly these.
    cost: Number(formatCredits(charge)),
  };
}

/** Where everybody who knows the name finds a hosted file. */
export function mediaUrl(publicBaseUrl: string, name: string): string {
  return `${publicBaseUrl.replace(/\/+$/, "")}${MEDIA_PATH}/${name}`;
}
