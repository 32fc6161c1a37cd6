// The BytePlus ModelArk adapter: Seedream answers images immediately, Seedance's videos are tasks that are polled.
// Links expire after 24 hours. Each request refuses the watermark, which is on by default.
import { dataUri } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import type { Outbound } from "../outbound.ts";
import type { ImageJob, MediaProvider, Operation, Progress, VideoJob } from "../provider.ts";
import { createProviderHttp } from "../provider-http.ts";
import { readFailure, readImage, readTask, readTaskId, readUsage } from "./read-answer.ts";

export const BYTEPLUS = "byteplus";
/** More than one at once would be a series, and the model would choose its length. */
const MOST_AT_ONCE = 1;
const TASKS = "/contents/generations/tasks";
const FRAMES = ["first_frame", "last_frame"];

export interface BytePlusOptions {
  readonly apiKey: string;
  /** API address, up to and with the version: https://ark.ap-southeast.bytepluses.com/api/v3 */
  readonly baseUrl: string;
  readonly outbound: Outbound;
}

export function createBytePlusProvider({ apiKey, baseUrl, outbound }: BytePlusOptions): MediaProvider {
  const credentials = { authorization: `Bearer ${apiKey}` };
  const http = createProviderHttp({
    name: BYTEPLUS,
    baseUrl,
    secret: apiKey,
    credentials,
    outbound,
    usageOf: readUsage,
  });
  const taskAt = ({ task }: Operation) => `${TASKS}/${encodeURIComponent(String(task))}`;

  async function submitImage(job: ImageJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const request = { method: "POST", to: "/images/generations", headers, json: imageOf(job) } as const;
    const answer = await http.send("submit", request, signal);
    if (answer.status !== 200) throw readFailure("submit", answer, http);
    return readImage(answer);
  }

  async function submitVideo(job: VideoJob, signal: AbortSignal): Promise<Progress> {
    const headers = { "x-request-id": job.requestId };
    const answer = await http.send(
      "submit",
      { method: "POST", to: TASKS, headers, json: taskOf(job) },
      signal,
    );
    if (answer.status !== 200) throw readFailure("submit", answer, http);
    return readTaskId(answer);
  }

  async function poll(operation: Operation, signal: AbortSignal): Promise<Progress> {
    const answer = await http.send("follow", { method: "GET", to: taskAt(operation) }, signal);
    if (answer.status !== 200) throw readFailure("follow", answer, http);
    return readTask(answer, operation);
  }

  return {
    name: BYTEPLUS,
    kinds: {
      image: { mostAtOnce: MOST_AT_ONCE, submit: submitImage },
      video: { mostAtOnce: MOST_AT_ONCE, submit: submitVideo },
    },
    poll,
    cancel: async (operation, signal) => {
      await http.send("follow", { method: "DELETE", to: taskAt(operation) }, signal);
    },
  };
}

/** Links instead of base64: after a lost connection the picture can be fetched again. */
function imageOf({ model, prompt, fields, inputs }: ImageJob): object {
  const pictures = inputs.map(dataUri);
  return {
    model,
    prompt,
    response_format: "url",
    watermark: false,
    ...fields,
    ...(pictures.length === 0 ? {} : { image: pictures.length === 1 ? pictures[0] : pictures }),
  };
}

/** One picture is the first frame, a second is the last. Three or more are reference images. */
function taskOf({ model, prompt, fields, inputs }: VideoJob): object {
  const { seconds, audio, others } = readJobFields(fields);
  const pictures = inputs.map((picture, index) => ({
    type: "image_url",
    image_url: { url: dataUri(picture) },
    role: inputs.length > FRAMES.length ? "reference_image" : FRAMES[index],
  }));
  return {
    model,
    content: [{ type: "text", text: prompt }, ...pictures],
    watermark: false,
    ...others,
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...(audio === undefined ? {} : { generate_audio: audio }),
  };
}
