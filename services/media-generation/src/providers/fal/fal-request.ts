// Builds fal's requests: each model has its own path, and mostly another one for requests with pictures.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Size } from "@gr/models";
import { dataUri, sortPictures } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import type { MediaJob } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";

interface PictureEndpoint {
  readonly path: string;
  /** Field of the pictures: one picture, or a list of them. */
  readonly image: string;
  readonly acceptsList?: true;
  readonly mask?: string;
}

/** Paths for requests with pictures, by the path for requests without. */
const WITH_PICTURES: Readonly<Record<string, PictureEndpoint>> = {
  "blackforestlabs/flux-3/text-to-video": {
    path: "blackforestlabs/flux-3/image-to-video",
    image: "image_url",
  },
  "fal-ai/flux-2-pro": { path: "fal-ai/flux-2-pro/edit", image: "image_urls", acceptsList: true },
  "fal-ai/flux-pro/kontext/text-to-image": { path: "fal-ai/flux-pro/kontext", image: "image_url" },
  "moonvalley/marey/t2v": { path: "moonvalley/marey/i2v", image: "image_url" },
  "openai/gpt-image-2": {
    path: "openai/gpt-image-2/edit",
    image: "image_urls",
    acceptsList: true,
    mask: "mask_url",
  },
};

export interface FalRequest {
  readonly path: string;
  readonly body: JsonObject;
}

/** @throws ProviderError if the model accepts no such pictures here */
export function requestOf(job: MediaJob): FalRequest {
  const { size, seconds, audio, others } = readJobFields(job.fields);
  const body = {
    prompt: job.prompt,
    ...(size === undefined ? {} : sizeFields(job.kind, size)),
    ...(seconds === undefined ? {} : { duration: String(seconds) }),
    ...(audio === undefined ? {} : { generate_audio: audio }),
    // PNG is lossless. We encode the picture once, in the client's format.
    ...(job.kind === "image" ? { output_format: "png" } : {}),
    ...others,
  };
  if (job.inputs.length === 0) return { path: job.model, body };
  const endpoint = WITH_PICTURES[job.model];
  const { images, mask } = sortPictures(job.inputs);
  const isAccepted = endpoint?.acceptsList || images.length === 1;
  if (endpoint === undefined || !isAccepted || (mask !== undefined && endpoint.mask === undefined)) {
    const message = `fal: no way to send these pictures to ${job.model} is known`;
    throw new ProviderError("misconfigured", message, { accepted: false });
  }
  const uris = images.map(dataUri);
  const pictures = { [endpoint.image]: endpoint.acceptsList ? uris : (uris[0] ?? null) };
  const masks = mask === undefined || endpoint.mask === undefined ? {} : { [endpoint.mask]: dataUri(mask) };
  return { path: endpoint.path, body: { ...body, ...pictures, ...masks } };
}

/** Videos have an aspect ratio and a resolution class, named after the shorter edge. */
function sizeFields(kind: MediaJob["kind"], { width, height }: Size): JsonObject {
  if (kind === "image") return { image_size: { width, height } };
  const divisor = greatestDivisor(width, height);
  return {
    aspect_ratio: `${width / divisor}:${height / divisor}`,
    resolution: `${Math.min(width, height)}p`,
  };
}

const greatestDivisor = (one: number, other: number): number =>
  other === 0 ? one : greatestDivisor(other, one % other);
