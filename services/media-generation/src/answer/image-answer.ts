// The answer to a finished generation. It follows from the row and the files alone, so that whoever repeats the request
// under the same Idempotency-Key is given the same answer, byte for byte, by whichever process.
import { formatCredits } from "@gr/money";
import type { MediaGenerationConfig } from "../config.ts";
import type { Ended, NewGeneration } from "../generation/generation.ts";
import { MEDIA_PATH } from "../storage/media-routes.ts";

export interface ImageAnswer {
  /** Unix seconds. */
  readonly created: number;
  readonly data: readonly { readonly url?: string; readonly b64_json?: string }[];
  /** Milliseconds from the row to its end. */
  readonly latency: number;
  /** USD. */
  readonly cost: number;
}

/** @param pictures not looked at when the answer has URLs */
export function imageAnswer(
  { PUBLIC_BASE_URL }: Pick<MediaGenerationConfig, "PUBLIC_BASE_URL">,
  { request, outputs }: Pick<NewGeneration, "request" | "outputs">,
  { createdAt, finishedAt, charge }: Ended,
  pictures: readonly Buffer[],
): ImageAnswer {
  const base = PUBLIC_BASE_URL.replace(/\/+$/, "");
  return {
    created: Math.floor(finishedAt / 1_000),
    data:
      request.response_format === "url"
        ? outputs.map((name) => ({ url: `${base}${MEDIA_PATH}/${name}` }))
        : pictures.map((bytes) => ({ b64_json: bytes.toString("base64") })),
    latency: Math.max(0, finishedAt - createdAt),
    // Four decimals: the nearest double prints as exactly these.
    cost: Number(formatCredits(charge)),
  };
}
