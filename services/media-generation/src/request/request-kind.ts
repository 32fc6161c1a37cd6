// What differs between requests for images and requests for videos. All else about them stands once in this room.
import type { ModelKind } from "@gr/proto/catalog";
import type { z } from "zod";
import { INPUT_FIELDS } from "../inputs/input-sources.ts";
import type { JobKind } from "../providers/provider.ts";
import type { imageRequestSchema } from "./image-request.ts";
import type { videoRequestSchema } from "./video-request.ts";

type ImageRequest = z.infer<typeof imageRequestSchema>;
type VideoRequest = z.infer<typeof videoRequestSchema>;
type Shared = keyof ImageRequest & keyof VideoRequest;

/** A request of either kind, checked. Fields that its kind does not have are absent. */
export type MediaRequest = Pick<ImageRequest, Shared> &
  Partial<Omit<ImageRequest, Shared> & Omit<VideoRequest, Shared>>;

export interface RequestKind {
  readonly kind: JobKind;
  /** What a model must be to be asked. */
  readonly modelKind: ModelKind;
  /** What is made, as messages call it. */
  readonly things: "images" | "videos";
  /** All of them take the same. */
  readonly paths: readonly [string, ...string[]];
  readonly summary: string;
  readonly schema: typeof imageRequestSchema | typeof videoRequestSchema;
  /** The same as multipart/form-data, as it is described. */
  readonly form: z.ZodType;
}

const ELSEWHERE: ReadonlySet<string> = new Set(INPUT_FIELDS);

/**
 * The same text for whatever asks for the same, as JSON or as a form, with defaults written out or not. Pictures are not in
 * it: they are compared by what they are.
 */
export function canonicalText({ schema }: RequestKind, request: MediaRequest): string {
  const fields = (Object.keys(schema.shape) as (keyof MediaRequest)[]).filter((field) => field !== "stream");
  return JSON.stringify(fields.map((field) => (ELSEWHERE.has(field) ? null : (request[field] ?? null))));
}
