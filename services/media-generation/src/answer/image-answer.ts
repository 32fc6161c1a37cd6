// The answer to a finished generation. It follows from the row and the files alone, so that whoever repeats the request
// under the same Idempotency-Key is given the same answer, byte for byte, by whichever process.
import { type Credits, formatCredits } from "@gr/money";
import type { MediaOrder } from "../generation/generation.ts";
import { MEDIA_PATH } from "../storage/media-routes.ts";

export interface ImageAnswer {
  /** Unix seconds. */
  readonly created: number;
  readonly data: readonly { readonly url?: string; readonly b64_json?: string }[];
  /** Milliseconds from the order to its end. */
  readonly latency: number;
  /** USD. */
  readonly cost: number;
}

export interface Finished {
  readonly charge: Credits;
  /** Unix milliseconds. */
  readonly finishedAt: number;
  /** Names of the hosted files. */
  readonly outputs: readonly string[];
}

/**
 * @param pictures not looked at when the answer has URLs
 * @param publicBaseUrl where clients reach the gateway
 */
export function imageAnswer(
  { request, createdAt }: Pick<MediaOrder, "request" | "createdAt">,
  { charge, finishedAt, outputs }: Finished,
  pictures: readonly Buffer[],
  publicBaseUrl: string,
): ImageAnswer {
  const base = publicBaseUrl.replace(/\/+$/, "");
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
