// OpenAI's image API: one request, one answer, nothing to poll and nothing to cancel.
// GPT image models answer base64 only and refuse `response_format`, so it is never sent.

import { exchangeFailure } from "../answer-failure.ts";
import { type Outbound, OutboundError } from "../outbound.ts";
import type { ImageJob, MediaProvider, Progress } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { readFailure, readImages } from "./read-answer.ts";

export const OPENAI = "openai";

export interface OpenAiOptions {
  readonly apiKey: string;
  /** Up to and with the version: https://api.openai.com/v1 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
  readonly lookUp?: NonNullable<MediaProvider["lookUp"]> | undefined;
}

export function createOpenAiProvider(options: OpenAiOptions): MediaProvider {
  const { apiKey, outbound, lookUp } = options;
  const url = `${options.baseUrl.replace(/\/+$/, "")}/images/generations`;

  async function submit(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    const answer = await outbound
      .send({
        method: "POST",
        url,
        headers: {
          accept: "application/json",
          authorization: `Bearer ${apiKey}`,
          "content-type": "application/json",
          // OpenAI logs the second one; the first is what others in its place look for.
          "x-request-id": job.requestId,
          "x-client-request-id": job.requestId,
        },
        body: JSON.stringify(bodyOf(job)),
        signal,
      })
      .catch((error: unknown) => {
        throw error instanceof OutboundError ? exchangeFailure(OPENAI, error) : error;
      });
    if (answer.status !== 200) throw readFailure(answer, apiKey);
    return { state: "succeeded", ...readImages(answer, job.count) };
  }

  return {
    name: OPENAI,
    submit,
    poll: async () => {
      throw new ProviderError("failed", "openai: its jobs end with their submission", { accepted: true });
    },
    cancel: async () => undefined,
    ...(lookUp === undefined ? {} : { lookUp }),
  };
}

/** PNG loses nothing; the picture is encoded once, by us, in the format that the caller wants. */
function bodyOf(job: ImageJob): object {
  return {
    model: job.model,
    prompt: job.prompt,
    n: job.count,
    ...(job.size === undefined ? {} : { size: job.size }),
    ...(job.quality === undefined ? {} : { quality: job.quality }),
    output_format: "png",
  };
}
