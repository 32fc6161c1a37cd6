// The xAI adapter: images answer immediately, videos are polled and cannot be cancelled.
// All bodies are JSON with pictures as data URIs, and every answer includes its cost.
import { dataUri } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import type { Outbound } from "../outbound.ts";
import type { ImageJob, MediaProvider, Operation, Progress, VideoJob } from "../provider.ts";
import { createProviderHttp } from "../provider-http.ts";
import { readFailure, readImages, readRequestId, readUsage, readVideo } from "./read-answer.ts";

export const XAI = "xai";
const MOST_IMAGES_AT_ONCE = 10;

export interface XaiOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://api.x.ai/v1 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createXaiProvider({ apiKey, baseUrl, outbound }: XaiOptions): MediaProvider {
  const credentials = { authorization: `Bearer ${apiKey}` };
  const http = createProviderHttp({
    name: XAI,
    baseUrl,
    secret: apiKey,
    credentials,
    outbound,
    usageOf: readUsage,
  });

  async function submitImage(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    const to = job.inputs.length === 0 ? "/images/generations" : "/images/edits";
    const headers = { "x-request-id": job.requestId };
    const answer = await http.send("submit", { method: "POST", to, headers, json: imageOf(job) }, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, http);
    return readImages(answer, job.count);
  }

  async function submitVideo(job: VideoJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: "/videos/generations", headers, json: videoOf(job) } as const;
    const answer = await http.send("submit", request, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, http);
    return readRequestId(answer);
  }

  async function poll(operation: Operation, signal: AbortSignal): Promise<Progress> {
    const to = `/videos/${encodeURIComponent(String(operation["video"]))}`;
    const answer = await http.send("follow", { method: "GET", to }, signal);
    if (answer.status !== 200 && answer.status !== 202) throw readFailure("follow", answer, http);
    return readVideo(answer, operation);
  }

  return {
    name: XAI,
    kinds: {
      image: { mostAtOnce: MOST_IMAGES_AT_ONCE, submit: submitImage },
      video: { mostAtOnce: 1, submit: submitVideo },
    },
    poll,
    cancel: async () => undefined,
  };
}

/** Links instead of base64: after a lost connection the picture can be fetched again. */
function imageOf({ model, prompt, count, fields, inputs }: ImageJob): object {
  const pictures = inputs.map((picture) => ({ url: dataUri(picture), type: "image_url" }));
  const [only] = pictures;
  return {
    model,
    prompt,
    n: count,
    response_format: "url",
    ...fields,
    ...(only === undefined ? {} : pictures.length === 1 ? { image: only } : { images: pictures }),
  };
}

/** One picture is the first frame, several are reference images. Videos always have sound, so no field requests it. */
function videoOf({ model, prompt, fields, inputs }: VideoJob): object {
  const { seconds, others } = readJobFields(fields);
  const pictures = inputs.map((picture) => ({ url: dataUri(picture) }));
  const [only] = pictures;
  return {
    model,
    prompt,
    ...others,
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...(only === undefined ? {} : pictures.length === 1 ? { image: only } : { reference_images: pictures }),
  };
}
