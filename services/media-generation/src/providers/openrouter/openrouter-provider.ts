// The OpenRouter adapter: images answer immediately, videos are polled and cannot be cancelled. Both report their
// cost. OpenRouter forwards a job to any provider of the model. The adapter therefore requests only the features that
// all of them support: one picture per request, no file format.
import { dataUri } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import { createFileReader } from "../keyed-file.ts";
import type { Outbound } from "../outbound.ts";
import type { ImageJob, InputPicture, MediaProvider, Operation, Progress, VideoJob } from "../provider.ts";
import { createProviderHttp } from "../provider-http.ts";
import { readFailure, readImages, readUsage, readVideo } from "./read-answer.ts";

export const OPENROUTER = "openrouter";
const MOST_AT_ONCE = 1;

export interface OpenRouterOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://openrouter.ai/api/v1 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createOpenRouterProvider({ apiKey, baseUrl, outbound }: OpenRouterOptions): MediaProvider {
  const credentials = { authorization: `Bearer ${apiKey}` };
  const http = createProviderHttp({
    name: OPENROUTER,
    baseUrl,
    secret: apiKey,
    credentials,
    outbound,
    usageOf: readUsage,
  });
  const readFile = createFileReader(http, outbound);

  async function submitImage(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: "/images", headers, json: imageOf(job) } as const;
    const answer = await http.send("submit", request, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, http);
    return readImages(answer, job.count);
  }

  async function submitVideo(job: VideoJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: "/videos", headers, json: videoOf(job) } as const;
    const answer = await http.send("submit", request, signal);
    if (answer.status !== 202 && answer.status !== 200) throw readFailure("submit", answer, http);
    return readVideo(answer, (id) => readFile(contentOf(id), signal));
  }

  async function poll({ video }: Operation, signal: AbortSignal): Promise<Progress> {
    const to = `/videos/${encodeURIComponent(String(video))}`;
    const answer = await http.send("follow", { method: "GET", to }, signal);
    if (answer.status !== 200) throw readFailure("follow", answer, http);
    return readVideo(answer, (id) => readFile(contentOf(id), signal));
  }

  return {
    name: OPENROUTER,
    kinds: {
      image: { mostAtOnce: MOST_AT_ONCE, submit: submitImage },
      video: { mostAtOnce: MOST_AT_ONCE, submit: submitVideo },
    },
    poll,
    cancel: async () => undefined,
  };
}

/** Polling and content use our configured address of OpenRouter. Addresses in answers are ignored. */
function contentOf(video: string): string {
  return `/videos/${encodeURIComponent(video)}/content?index=0`;
}

function imageOf({ model, prompt, fields, inputs }: ImageJob): object {
  return {
    model,
    prompt,
    ...fields,
    ...(inputs.length === 0 ? {} : { input_references: inputs.map(reference) }),
  };
}

/** One picture is the first frame, a second is the last. Three or more are reference images. */
function videoOf({ model, prompt, fields, inputs }: VideoJob): object {
  const { size, seconds, audio, others } = readJobFields(fields);
  const frames = inputs.map((picture, index) => ({
    ...reference(picture),
    frame_type: index === 0 ? "first_frame" : "last_frame",
  }));
  const pictures = inputs.length > 2 ? { input_references: inputs.map(reference) } : { frame_images: frames };
  return {
    model,
    prompt,
    ...others,
    ...(size === undefined ? {} : { size: `${size.width}x${size.height}` }),
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...(audio === undefined ? {} : { generate_audio: audio }),
    ...(inputs.length === 0 ? {} : pictures),
  };
}

const reference = (picture: InputPicture) => ({ type: "image_url", image_url: { url: dataUri(picture) } });
