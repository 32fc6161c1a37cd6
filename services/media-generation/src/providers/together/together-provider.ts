// The Together adapter: images answer immediately. Videos are polled at another host and cannot be cancelled.
// Sizes are numbers, lengths are text. Only videos report their cost.
import { dataUri } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import type { Outbound } from "../outbound.ts";
import type { ImageJob, MediaProvider, Operation, Progress, VideoJob } from "../provider.ts";
import { createProviderHttp } from "../provider-http.ts";
import { readFailure, readImages, readUsage, readVideo } from "./read-answer.ts";

export const TOGETHER = "together";
const MOST_IMAGES_AT_ONCE = 4;

export interface TogetherOptions {
  readonly apiKey: string;
  /** Address of the image API, up to and with the version: https://api.together.xyz/v1 */
  readonly baseUrl: string;
  /** Address of the video API: https://api.together.ai/v2 */
  readonly videoBaseUrl: string;
  readonly outbound: Outbound;
}

export function createTogetherProvider(options: TogetherOptions): MediaProvider {
  const { apiKey, baseUrl, videoBaseUrl, outbound } = options;
  const credentials = { authorization: `Bearer ${apiKey}` };
  const host = { name: TOGETHER, secret: apiKey, credentials, outbound, usageOf: readUsage };
  const images = createProviderHttp({ ...host, baseUrl });
  const videos = createProviderHttp({ ...host, baseUrl: videoBaseUrl });

  async function submitImage(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: "/images/generations", headers, json: imageOf(job) } as const;
    const answer = await images.send("submit", request, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, images);
    return readImages(answer, job.count);
  }

  async function submitVideo(job: VideoJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: "/videos", headers, json: videoOf(job) } as const;
    const answer = await videos.send("submit", request, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, videos);
    return readVideo(answer);
  }

  async function poll({ video }: Operation, signal: AbortSignal): Promise<Progress> {
    const to = `/videos/${encodeURIComponent(String(video))}`;
    const answer = await videos.send("follow", { method: "GET", to }, signal);
    if (answer.status !== 200) throw readFailure("follow", answer, videos);
    return readVideo(answer);
  }

  return {
    name: TOGETHER,
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
  const { size, others } = readJobFields(fields);
  return {
    model,
    prompt,
    n: count,
    response_format: "url",
    ...size,
    ...others,
    ...(inputs.length === 0 ? {} : { reference_images: inputs.map(dataUri) }),
  };
}

/** One picture is the first frame, a second is the last. Three or more are reference images. */
function videoOf({ model, prompt, fields, inputs }: VideoJob): object {
  const { size, seconds, audio, others } = readJobFields(fields);
  const frames = inputs.map((picture, index) => ({
    input_image: dataUri(picture),
    frame: index === 0 ? "first" : "last",
  }));
  const media = inputs.length > 2 ? { reference_images: inputs.map(dataUri) } : { frame_images: frames };
  return {
    model,
    prompt,
    ...size,
    ...others,
    ...(seconds === undefined ? {} : { seconds: String(seconds) }),
    ...(audio === undefined ? {} : { generate_audio: audio }),
    ...(inputs.length === 0 ? {} : { media }),
  };
}
