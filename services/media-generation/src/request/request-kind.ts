// RequestKind has the differences between requests for images and for videos. All other
// code of this folder serves both.
import type { ModelKind } from "@gr/proto/catalog";
import type { z } from "zod";
import { INPUT_FIELDS } from "../inputs/input-sources.ts";
import type { JobKind } from "../providers/provider.ts";
import type { imageRequestSchema } from "./image-request.ts";
import type { videoJobSchema } from "./video-job.ts";
import type { videoRequestSchema } from "./video-request.ts";

type ImageRequest = z.infer<typeof imageRequestSchema>;
type VideoRequest = z.infer<typeof videoRequestSchema>;
type Shared = keyof ImageRequest & keyof VideoRequest;

/** A checked request of either kind. Fields of the other kind are absent. */
export type MediaRequest = Pick<ImageRequest, Shared> &
  Partial<Omit<ImageRequest, Shared> & Omit<VideoRequest, Shared>>;

export interface RequestKind {
  readonly kind: JobKind;
  /** Kind of the models that accept the request. */
  readonly modelKind: ModelKind;
  /** Name of the output in messages. */
  readonly things: "images" | "videos";
  /** Paths with the same request. */
  readonly paths: readonly [string, ...string[]];
  readonly summary: string;
  readonly schema: typeof imageRequestSchema | typeof videoRequestSchema | typeof videoJobSchema;
  /** The same schema as multipart/form-data, for the description. */
  readonly form: z.ZodType;
}

const ELSEWHERE: ReadonlySet<string> = new Set(INPUT_FIELDS);
/** Fields that change the form of the answer only. */
const FORM_ONLY: ReadonlySet<string> = new Set(["stream", "partial_images"]);
/** Fields that are younger than stored claims: a request without them has the text that it always had. */
const YOUNGER: ReadonlySet<string> = new Set(["callback_url"]);

/**
 * Returns equal texts for equal requests, as JSON or as a form, with defaults written out or not.
 * Pictures are excluded: they are compared by their contents.
 */
export function canonicalText({ schema }: RequestKind, request: MediaRequest): string {
  const fields = (Object.keys(schema.shape) as (keyof MediaRequest)[]).filter(
    (field) => !FORM_ONLY.has(field) && !(YOUNGER.has(field) && request[field] == null),
  );
  return JSON.stringify(fields.map((field) => (ELSEWHERE.has(field) ? null : (request[field] ?? null))));
}
