// ImageStreamReader reads OpenAI's stream of one picture: partial images, then the picture with its usage, or an error.
// The first picture or error ends the stream. Unknown events, and partial images beyond the requested number, are ignored.
import { z } from "zod";
import { decodedPieces } from "../../storage/base64-text.ts";
import { deliveredPictures } from "../delivered-pictures.ts";
import type { OutboundAnswer } from "../outbound.ts";
import type { Artifact, PartialImages } from "../provider.ts";
import type { ProviderHttp } from "../provider-http.ts";
import { readTokenUsage } from "../token-usage.ts";
import { type Images, readFailure } from "./read-answer.ts";

const pictureSchema = z.object({
  type: z.string().regex(/^image_(generation|edit)\.(partial_image|completed)$/),
  b64_json: z.string().min(1),
});
const errorSchema = z.object({ error: z.looseObject({}) });

export class ImageStreamReader {
  readonly #partials: PartialImages;
  #events = 0;
  #arrived = 0;
  /** Last event. */
  #completed: unknown;
  #error: unknown;

  constructor(partials: PartialImages) {
    this.#partials = partials;
  }

  /** False if the answer had no event: it was then no stream. */
  get hasBegun(): boolean {
    return this.#events > 0;
  }

  /** Resolves when the next event may be read. @returns false after the last one */
  async read(event: unknown): Promise<boolean> {
    this.#events += 1;
    if (errorSchema.safeParse(event).success) {
      this.#error = event;
      return false;
    }
    const { data } = pictureSchema.safeParse(event);
    if (data === undefined) return true;
    if (data.type.endsWith(".completed")) {
      this.#completed = event;
      return false;
    }
    const index = this.#arrived;
    this.#arrived += 1;
    if (index < this.#partials.most) await this.#partials.arrived(index, artifactOf(data.b64_json));
    return true;
  }

  /** @throws ProviderError of a job that had begun, if the stream had no picture */
  images(answer: OutboundAnswer, http: ProviderHttp): Images {
    if (this.#error !== undefined) {
      const json = () => this.#error;
      throw readFailure({ status: answer.status, header: answer.header, json }, http, "follow");
    }
    const usage = readTokenUsage(this.#completed);
    const { data } = pictureSchema.safeParse(this.#completed);
    const pictures = deliveredPictures("openai", data === undefined ? undefined : [data], 1, { usage });
    const artifacts = pictures.map(({ b64_json }) => artifactOf(b64_json));
    return { artifacts, ...(usage === undefined ? {} : { usage }) };
  }
}

function artifactOf(base64: string): Artifact {
  return { stream: decodedPieces(base64), type: "image/png" };
}
