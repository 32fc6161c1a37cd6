// The log over HTTP: a key reads the requests that were made with it, and may delete the files of its images and videos.
// Entries of other keys have the same answer as unknown ids.
import { explainedRecord, type PriceVersions, requestRecord } from "@gr/clients";
import { normalKey } from "@gr/identity";
import { requestRecord as requestSchema, savedText } from "@gr/request-record";
import { isUuid, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { kindOf, logQuerySchema, refuseUnknown } from "./log-query.ts";
import type { LogOwner, LogStore } from "./log-store.ts";
import { findRequest, type ReadLogDeps, readLog } from "./read-log.ts";
import { type RemovalDeps, removeContent } from "./remove-content.ts";
import { readSavedText, removeSavedText, type SavedTextDeps } from "./saved-text.ts";

const JSON_TYPE = "application/json; charset=utf-8";
export const LOG_PATH = "/v1/generations";

export interface LogDeps extends RemovalDeps, ReadLogDeps, Pick<SavedTextDeps, "savedTexts"> {
  readonly generationLog: LogStore;
  readonly prices: PriceVersions;
}

const pageSchema = z.object({
  object: z.literal("list"),
  data: z.array(requestSchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});
const deletedSchema = z.object({ id: z.string(), deleted: z.literal(true) });
const notFound = { description: "The log of this key has no generation with this id" };

export function logRoutes(deps: LogDeps): RestRoute[] {
  return [listRoute(deps), entryRoute(deps), savedTextRoute(deps), deleteRoute(deps)];
}

const listRoute = (deps: LogDeps) =>
  restRoute({
    method: "GET",
    path: LOG_PATH,
    access: normalKey,
    summary: "List the requests of this key, newest first: images, videos and text",
    query: logQuerySchema,
    responses: { 200: { description: "A page of the log", schema: pageSchema } },
    handle: async ({ query, caller }) => {
      const { limit, after, model, provider, status } = query;
      const { created_after: createdAfter, created_before: createdBefore } = query;
      const filter = { kind: kindOf(query), model, provider, status, createdAfter, createdBefore };
      const { generations, hasMore } = await readLog(deps, caller, filter, after, limit);
      return {
        object: "list" as const,
        data: generations.map(requestRecord),
        has_more: hasMore,
        first_id: generations[0]?.id ?? null,
        last_id: generations.at(-1)?.id ?? null,
      };
    },
  });

const entryRoute = (deps: LogDeps) =>
  restRoute({
    method: "GET",
    path: `${LOG_PATH}/:id`,
    access: normalKey,
    summary: "A request: its state, its result, and the calculation of its charge",
    responses: { 200: { description: "The request", schema: requestSchema }, 404: notFound },
    handle: async ({ caller, http }) => {
      const id = idOf(http);
      const found = isUuid(id) ? await findRequest(deps, caller, id.toLowerCase()) : undefined;
      return explainedRecord(found ?? refuseUnknown(), deps.prices);
    },
  });

const savedTextRoute = (deps: LogDeps) =>
  restRoute({
    method: "GET",
    path: `${LOG_PATH}/:id/text`,
    access: normalKey,
    summary: "The saved prompt and answer of a text request, for a key that saves them",
    responses: {
      200: { description: "Prompt and answer", schema: savedText },
      404: { description: "The log of this key has no such text request, or nothing of it is saved" },
    },
    handle: async ({ caller, http, reply }) =>
      reply.type(JSON_TYPE).send(await readSavedText(deps, caller, idOf(http))),
  });

const deleteRoute = (deps: LogDeps) =>
  restRoute({
    method: "DELETE",
    path: `${LOG_PATH}/:id`,
    access: normalKey,
    summary:
      "Delete the files and the prompt of a generation, or the saved prompt and answer of a text; a running generation is cancelled. The cost stays in the log",
    responses: {
      200: {
        description: "They are deleted, by this request or an earlier one",
        schema: deletedSchema,
      },
      202: {
        description:
          "The generation has Prefer: respond-async, still runs, and is cancelled. If it finishes first, it is charged " +
          "and its files are deleted; its status shows the result.",
        schema: deletedSchema,
      },
      404: notFound,
      409: { description: "A client still waits for the generation" },
    },
    handle: async ({ caller, http, reply }) => {
      const asked = idOf(http);
      const isText = (await isMedia(deps, caller, asked))
        ? false
        : await removeSavedText(deps, caller, asked);
      if (isText) return { id: asked.toLowerCase(), deleted: true as const };
      const { id, removed } = await removeContent(deps, caller, asked);
      return reply.status(removed === "ended" ? 200 : 202).send({ id, deleted: true });
    },
  });

const isMedia = async ({ generationLog }: LogDeps, owner: LogOwner, id: string) =>
  isUuid(id) && (await generationLog.find(owner, id)) !== undefined;

const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id;
