// The adapter of OpenAI's image API: one request and one answer, without polling and without cancellation.
// GPT image models answer base64 only and refuse `response_format`, so the adapter never sends it.
// Requests with pictures use another path and a form, and those with partial images a stream.
import type { JsonObject } from "@bufbuild/protobuf";
import type { FormPart } from "../form-body.ts";
import type { Outbound } from "../outbound.ts";
import type { ImageJob, MediaProvider, Progress } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";
import { createProviderHttp, type ProviderRequest } from "../provider-http.ts";
import { readTokenUsage } from "../token-usage.ts";
import { readFailure, readImages } from "./read-answer.ts";
import { ImageStreamReader } from "./read-stream.ts";

export const OPENAI = "openai";
const MOST_AT_ONCE = 10;

export interface OpenAiOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://api.openai.com/v1 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createOpenAiProvider(options: OpenAiOptions): MediaProvider {
  const { apiKey, baseUrl, outbound } = options;
  const credentials = { authorization: `Bearer ${apiKey}` };
  const http = createProviderHttp({
    name: OPENAI,
    baseUrl,
    secret: apiKey,
    credentials,
    outbound,
    usageOf: readTokenUsage,
  });

  async function submit(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    // OpenAI logs the second header. Compatible servers read the first.
    const headers = { "x-request-id": job.requestId, "x-client-request-id": job.requestId };
    const request =
      job.inputs.length === 0
        ? ({ method: "POST", to: "/images/generations", headers, json: bodyOf(job) } as const)
        : ({ method: "POST", to: "/images/edits", headers, form: formOf(job) } as const);
    const { partials } = job;
    if (partials !== undefined) return stream(request, new ImageStreamReader(partials), signal);
    const answer = await http.send("submit", request, signal);
    if (answer.status !== 200) throw readFailure(answer, http);
    return { state: "succeeded", ...readImages(answer, job.count) };
  }

  /** A server without streams answers as it answers the plain request. */
  async function stream(
    request: ProviderRequest,
    reader: ImageStreamReader,
    signal: AbortSignal,
  ): Promise<Progress> {
    const answer = await http.send("submit", request, signal, (event) => reader.read(event));
    if (answer.status !== 200) throw readFailure(answer, http);
    const images = reader.hasBegun ? reader.images(answer, http) : readImages(answer, 1);
    return { state: "succeeded", ...images };
  }

  return {
    name: OPENAI,
    kinds: { image: { mostAtOnce: MOST_AT_ONCE, sendsPartials: true, submit } },
    poll: async () => {
      throw new ProviderError("failed", "openai: its jobs end with their submission", { accepted: true });
    },
    cancel: async () => undefined,
  };
}

/** PNG is lossless. We encode the picture once, in the client's format. */
function bodyOf(job: ImageJob): JsonObject {
  return {
    model: job.model,
    prompt: job.prompt,
    n: job.count,
    ...job.fields,
    output_format: "png",
    ...(job.partials === undefined ? {} : { stream: true, partial_images: job.partials.most }),
  };
}

/** `image[]` also for a single picture: OpenAI accepts both forms. */
function formOf(job: ImageJob): FormPart[] {
  const texts = Object.entries(bodyOf(job)).map(([name, value]) => ({ name, value: String(value) }));
  const files = job.inputs.map(({ role, bytes, type }, index) => ({
    name: role === "mask" ? "mask" : "image[]",
    value: { bytes, type, filename: `${role}-${index + 1}.${type.replace("image/", "")}` },
  }));
  return [...texts, ...files];
}
