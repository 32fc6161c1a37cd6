// An entry of the log as the API shows it. Its URLs and its error are those that the first answer had.
import { formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { renderError } from "@gr/runtime";
import { z } from "zod";
import { mediaUrl } from "../answer/media-answer.ts";
import { filesOf, KINDS, type LogEntry, previewOf, STATUSES } from "./log-entry.ts";
import type { LogPage } from "./log-query.ts";

const time = () => z.string().meta({ format: "date-time" });

export const generationSchema = z.object({
  id: z.string().describe("x-request-id of the request"),
  object: z.literal("generation"),
  status: z.enum(STATUSES),
  kind: z.enum(KINDS),
  model: z.string(),
  request: z
    .object({
      prompt: z.string().optional().describe("absent if it is not stored, or deleted"),
      n: z.number().int(),
      size: z.string().optional(),
      quality: z.string().optional(),
      seconds: z.number().optional(),
      audio: z.boolean().optional(),
      input_images: z.number().int().optional(),
      partial_images: z.number().int().optional().describe("of a stream; absent without any"),
      output_format: z.string(),
      response_format: z.string(),
    })
    .describe("effective parameters: every auto is resolved"),
  created_at: time(),
  finished_at: time().nullable().describe("null while it runs"),
  progress: z
    .number()
    .int()
    .nullable()
    .describe("percent while it runs, if its provider reports progress; null otherwise"),
  data: z
    .array(
      z.object({
        url: z.string(),
        thumbnail_url: z.string().optional().describe("thumbnail of an image, WebP"),
        poster_url: z.string().optional().describe("small first frame of a video, WebP"),
      }),
    )
    .describe("the hosted files, for every response_format"),
  error: z
    .object({
      message: z.string(),
      type: z.string(),
      param: z.string().optional(),
      code: z.string().optional(),
    })
    .nullable()
    .describe("error that the client received"),
  latency: z
    .number()
    .int()
    .nullable()
    .describe("milliseconds from the request to its end; null while it runs"),
  cost: z.number().nullable().describe("USD charged; null while it runs"),
  deleted: z.boolean().describe("its files and its prompt were deleted"),
  expired: z.boolean().describe("its files were older than the retention period and were deleted"),
});

export const pageSchema = z.object({
  object: z.literal("list"),
  data: z.array(generationSchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

export function generationAnswer(entry: LogEntry, publicBaseUrl: string): z.infer<typeof generationSchema> {
  const { id, status, kind, model, request, createdAt, finishedAt, error, charge, deleted, expired } = entry;
  const { input_pixels: pixels, ...parameters } = request;
  return {
    id,
    object: "generation",
    status,
    kind,
    model,
    request: { ...parameters, ...(pixels === undefined ? {} : { input_images: pixels.length }) },
    created_at: new Date(createdAt).toISOString(),
    finished_at: finishedAt === undefined ? null : new Date(finishedAt).toISOString(),
    progress: entry.progress ?? null,
    data: filesOf(entry).map((name) => fileAnswer(entry, name, publicBaseUrl)),
    error: error === undefined ? null : errorAnswer(error, id),
    latency: finishedAt === undefined ? null : Math.max(0, finishedAt - createdAt),
    // Four decimals: the nearest double prints as exactly these.
    cost: charge === undefined ? null : Number(formatCredits(charge)),
    deleted,
    expired,
  };
}

/** Returns the error as its client received it. */
export function errorAnswer(
  { reason, message }: NonNullable<LogEntry["error"]>,
  id: string,
): NonNullable<z.infer<typeof generationSchema>["error"]> {
  return renderError(new ServiceError(reason, message), id).body.error;
}

function fileAnswer(entry: LogEntry, name: string, publicBaseUrl: string) {
  const preview = previewOf(entry, name);
  const field = entry.kind === "video" ? "poster_url" : "thumbnail_url";
  return {
    url: mediaUrl(publicBaseUrl, name),
    ...(preview === undefined ? {} : { [field]: mediaUrl(publicBaseUrl, preview) }),
  };
}

export function pageAnswer({ entries, hasMore }: LogPage, publicBaseUrl: string): z.infer<typeof pageSchema> {
  return {
    object: "list",
    data: entries.map((entry) => generationAnswer(entry, publicBaseUrl)),
    has_more: hasMore,
    first_id: entries[0]?.id ?? null,
    last_id: entries.at(-1)?.id ?? null,
  };
}
