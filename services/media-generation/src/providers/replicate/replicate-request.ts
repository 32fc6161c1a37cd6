// Builds Replicate's requests. Each model has its own inputs, which the catalogue's routes name.
// The names of the picture inputs are in the table below.
import { dataUri, sortPictures, whiteMask } from "../input-picture.ts";
import { readJobFields } from "../job-fields.ts";
import type { JsonFields } from "../json-body.ts";
import type { MediaJob } from "../provider.ts";
import { ProviderError } from "../provider-error.ts";

interface PictureInputs {
  readonly image: string;
  readonly acceptsList?: true;
  /** Input of the mask, for models that repaint its white part. */
  readonly mask?: string;
}

const PICTURES: Readonly<Record<string, PictureInputs>> = {
  "black-forest-labs/flux-1.1-pro": { image: "image_prompt" },
  "black-forest-labs/flux-2-dev": { image: "input_images", acceptsList: true },
  "black-forest-labs/flux-2-klein-4b": { image: "images", acceptsList: true },
  "black-forest-labs/flux-2-pro": { image: "input_images", acceptsList: true },
  "black-forest-labs/flux-fill-pro": { image: "image", mask: "mask" },
};

/** @throws ProviderError if the model accepts no such pictures */
export async function inputOf(job: MediaJob): Promise<JsonFields> {
  const { size, seconds, audio, others } = readJobFields(job.fields);
  return {
    prompt: job.prompt,
    ...(size === undefined ? {} : { width: size.width, height: size.height }),
    ...(seconds === undefined ? {} : { duration: seconds }),
    ...(audio === undefined ? {} : { generate_audio: audio }),
    ...others,
    ...(job.inputs.length === 0 ? {} : await picturesOf(job)),
  };
}

async function picturesOf({ model, inputs }: MediaJob): Promise<JsonFields> {
  const names = PICTURES[model];
  const { images, mask } = sortPictures(inputs);
  const isAccepted = names?.acceptsList || images.length === 1;
  if (names === undefined || !isAccepted || (mask !== undefined && names.mask === undefined)) {
    const message = `replicate: no way to send these pictures to ${model} is known`;
    throw new ProviderError("misconfigured", message, { accepted: false });
  }
  const uris = images.map(dataUri);
  return {
    [names.image]: names.acceptsList ? uris : (uris[0] ?? null),
    ...(mask === undefined || names.mask === undefined
      ? {}
      : { [names.mask]: dataUri(await whiteMask(mask)) }),
  };
}
