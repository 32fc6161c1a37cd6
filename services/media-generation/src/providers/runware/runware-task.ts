// Builds Runware's tasks with ids of our own. By its id a task is found again, also after a
// lost answer to its submission.
import { createHash } from "node:crypto";
import { dataUri, sortPictures, whiteMask } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import type { JsonFields } from "../json-body.ts";
import type { MediaJob } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";

/** Models that repaint the white part of one picture. */
const REPAINTING = new Set(["bfl:1@2"]);

/** Derives the id from the request alone, in the form of the random ids that Runware accepts. */
export function taskIdOf(requestId: string, part: number): string {
  const bytes = createHash("sha256").update(`${requestId}/${part}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** @throws ProviderError if the model does not accept these pictures here */
export async function taskOf(job: MediaJob): Promise<JsonFields> {
  const { size, seconds, audio, others } = readJobFields(job.fields);
  const image = job.kind === "image";
  return {
    taskType: image ? "imageInference" : "videoInference",
    taskUUID: taskIdOf(job.requestId, job.part),
    model: job.model,
    positivePrompt: job.prompt,
    numberResults: job.count,
    outputType: "URL",
    // PNG is lossless. We encode the picture once, in the client's format.
    outputFormat: image ? "PNG" : "MP4",
    includeCost: true,
    // Asynchronous also for fast models: every task can then be queried again.
    deliveryMethod: "async",
    ...(size === undefined ? {} : { width: size.width, height: size.height }),
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...nested(audio === undefined ? others : { "settings.audio": audio, ...others }),
    ...(job.inputs.length === 0 ? {} : { inputs: await inputsOf(job) }),
  };
}

async function inputsOf({ kind, model, inputs }: MediaJob): Promise<JsonFields> {
  const { images, mask } = sortPictures(inputs);
  const [first, ...more] = images.map(dataUri);
  const repaints = REPAINTING.has(model);
  if (first === undefined || (mask !== undefined && !repaints) || (repaints && more.length > 0)) {
    const message = `runware: no way to send these pictures to ${model} is known`;
    throw new ProviderError("misconfigured", message, { accepted: false });
  }
  if (repaints) {
    return { seedImage: first, ...(mask === undefined ? {} : { maskImage: dataUri(await whiteMask(mask)) }) };
  }
  if (kind === "image" || more.length > 1) return { referenceImages: [first, ...more] };
  const [last] = more;
  const end = last === undefined ? [] : [{ image: last, frame: "last" }];
  return { frameImages: [{ image: first, frame: "first" }, ...end] };
}

/** The catalogue has names and plain values; a point in a name leads into an object: `providerSettings.openai.quality`. */
function nested(fields: JsonFields): JsonFields {
  const task: JsonFields = {};
  for (const [name, value] of Object.entries(fields)) {
    const path = name.split(".");
    const last = path.pop() ?? name;
    let place = task;
    for (const step of path) {
      const inner: unknown = place[step] ?? {};
      if (typeof inner !== "object" || inner === null || Array.isArray(inner)) break;
      place[step] = inner;
      place = inner as JsonFields;
    }
    place[last] = value;
  }
  return task;
}
