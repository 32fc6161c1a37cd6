// Videos as jobs: a key lists, reads, downloads and deletes the videos that were requested with it, on both video paths.
// A deleted video is unknown here. A cancelled job stays visible, because its status is the answer to the cancellation.
import { normalKey } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { filesOf, type LogEntry, previewOf } from "../log/log-entry.ts";
import { idField, limitField, readEntry, readPage, refuseUnknown } from "../log/log-query.ts";
import type { LogOwner, LogStore } from "../log/log-store.ts";
import { type RemovalDeps, removeContent } from "../log/remove-content.ts";
import { VIDEOS_PATH } from "../request/video-job.ts";
import { fileAnswers, sendFile } from "../storage/media-routes.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import { videoListSchema, videoOf, videoSchema } from "./video-object.ts";

export interface VideoDeps extends RemovalDeps {
  readonly generationLog: LogStore;
  readonly storage: MediaStorage;
  readonly publicBaseUrl: string;
}

const NOT_READY_RETRY_MS = 2_000;
/** A client may store the file, and asks again each time whether it still exists. */
const CACHING = { "cache-control": "private, no-cache" };

const notFound = { description: "This key has no video with this id" };
const removedSchema = z.object({
  id: z.string(),
  object: z.literal("video.deleted"),
  deleted: z.literal(true),
});

export function videoRoutes(deps: VideoDeps): RestRoute[] {
  return [listRoute(deps), videoRoute(deps), contentRoute(deps), deleteRoute(deps)];
}

const listRoute = ({ generationLog, publicBaseUrl }: VideoDeps) =>
  restRoute({
    method: "GET",
    path: VIDEOS_PATH,
    access: normalKey,
    summary: "List the videos that were requested with this key",
    query: z.object({
      limit: limitField,
      after: idField("after").optional().describe("id of the last video of the page before"),
      order: z
        .enum(["asc", "desc"], { error: "order must be asc or desc" })
        .optional()
        .describe("by creation; newest first when absent"),
    }),
    responses: { 200: { description: "A page of videos", schema: videoListSchema } },
    handle: async ({ query: { limit, after, order }, caller }) => {
      const filter = { kind: "video", isPresent: true, isOldestFirst: order === "asc" } as const;
      const { entries, hasMore } = await readPage(generationLog, caller, filter, after, limit);
      return {
        object: "list",
        data: entries.map((entry) => videoOf(entry, publicBaseUrl)),
        has_more: hasMore,
        first_id: entries[0]?.id ?? null,
        last_id: entries.at(-1)?.id ?? null,
      };
    },
  });

const videoRoute = ({ generationLog, publicBaseUrl }: VideoDeps) =>
  restRoute({
    method: "GET",
    path: `${VIDEOS_PATH}/:id`,
    access: normalKey,
    summary: "The state of a video job",
    responses: { 200: { description: "The video", schema: videoSchema }, 404: notFound },
    handle: async ({ caller, http }) =>
      videoOf(await readVideo(generationLog, caller, idOf(http)), publicBaseUrl),
  });

const contentRoute = ({ generationLog, storage }: VideoDeps) =>
  restRoute({
    method: "GET",
    path: `${VIDEOS_PATH}/:id/content`,
    access: normalKey,
    summary: "The file of a finished video, or its first picture",
    query: z.object({
      variant: z
        .enum(["video", "thumbnail"], { error: "variant must be video or thumbnail" })
        .optional()
        .describe("thumbnail: the first picture, small, WebP; video when absent"),
    }),
    responses: {
      ...fileAnswers("video/mp4", "image/webp"),
      404: { description: "This key has no video with this id, or the video failed" },
      409: { description: "The video is not finished" },
      410: { description: "The file was deleted at the end of its retention, or was never stored" },
    },
    handle: async ({ query: { variant }, caller, http, reply }) =>
      sendContent(storage, await readVideo(generationLog, caller, idOf(http)), variant, http, reply),
  });

const deleteRoute = (deps: VideoDeps) =>
  restRoute({
    method: "DELETE",
    path: `${VIDEOS_PATH}/:id`,
    access: normalKey,
    summary: "Delete a video with its prompt, or cancel an unfinished job",
    responses: {
      200: { description: "The video is deleted; its cost stays in the log", schema: removedSchema },
      202: {
        description:
          "The cancellation of an unfinished job is requested. The job is free if its provider ends it without a video: its " +
          "status is then failed, with the code cancelled. Otherwise it is charged at its end, and its file is deleted.",
        schema: removedSchema,
      },
      404: notFound,
      409: { description: "A client waits for the video" },
    },
    handle: async ({ caller, http, reply }) => {
      const { id } = await readVideo(deps.generationLog, caller, idOf(http));
      const { removed } = await removeContent(deps, caller, id);
      return reply
        .status(removed === "ended" ? 200 : 202)
        .send({ id, object: "video.deleted", deleted: true } satisfies z.infer<typeof removedSchema>);
    },
  });

/** @throws ServiceError generation_not_found */
async function readVideo(store: Pick<LogStore, "find">, owner: LogOwner, id: string): Promise<LogEntry> {
  const entry = await readEntry(store, owner, id);
  const { kind, deleted, status } = entry;
  const isGone = deleted && status !== "running" && status !== "cancelled";
  return kind === "video" && !isGone ? entry : refuseUnknown();
}

/** @throws ServiceError for a video without a file */
function sendContent(
  storage: MediaStorage,
  entry: LogEntry,
  variant: "video" | "thumbnail" | undefined,
  http: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [file] = filesOf(entry);
  if (file === undefined) throw withoutFile(entry);
  const name = variant === "thumbnail" ? previewOf(entry, file) : file;
  if (name === undefined) throw new ServiceError("media_not_found", "This video has no thumbnail.");
  return sendFile(storage, name, CACHING, http, reply);
}

function withoutFile({ status }: LogEntry): ServiceError {
  switch (status) {
    case "running":
      return new ServiceError("content_not_ready", "The video is not finished; try again shortly.", {
        retryAfterMs: NOT_READY_RETRY_MS,
      });
    case "succeeded":
      return new ServiceError("content_expired", "The file of this video is no longer stored.");
    case "failed":
    case "blocked":
    case "cancelled":
      return new ServiceError(
        "media_not_found",
        "The video failed, so it has no file; its error has the reason.",
      );
  }
}

const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id;
