// The log over HTTP: a key reads, and may delete, the generations that were requested with it.
// Entries of other keys have the same answer as unknown ids.
import { normalKey } from "@gr/identity";
import { isUuid, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { generationAnswer, generationSchema, pageAnswer, pageSchema } from "./log-answer.ts";
import { findEntry, kindOf, logQuerySchema, readPage, refuseUnknown, USUAL_PAGE } from "./log-query.ts";
import type { LogStore } from "./log-store.ts";
import { type RemovalDeps, removeContent } from "./remove-content.ts";
import { findText, listTexts, type TextLogDeps, textPageSchema, textSchema } from "./text-entry.ts";

export const LOG_PATH = "/v1/generations";

export interface LogDeps extends RemovalDeps, TextLogDeps {
  readonly generationLog: LogStore;
  readonly publicBaseUrl: string;
}

const deletedSchema = z.object({ id: z.string(), deleted: z.literal(true) });
const notFound = { description: "The log of this key has no generation with this id" };

export function logRoutes(deps: LogDeps): RestRoute[] {
  return [listRoute(deps), entryRoute(deps), deleteRoute(deps)];
}

const listRoute = (deps: LogDeps) =>
  restRoute({
    method: "GET",
    path: LOG_PATH,
    access: normalKey,
    summary: "List the generations of this key, or its text requests, newest first",
    query: logQuerySchema,
    responses: {
      200: { description: "A page of the log", schema: z.union([pageSchema, textPageSchema]) },
    },
    handle: async ({ query, caller }) => {
      const { generationLog, publicBaseUrl } = deps;
      const { limit, after, model, status, created_after: createdAfter, created_before: createdBefore } = query;
      const kind = kindOf(query);
      const filter = { model, status, createdAfter, createdBefore };
      if (kind === "text") return listTexts(deps, caller, filter, after, limit ?? USUAL_PAGE);
      return pageAnswer(
        await readPage(generationLog, caller, { ...filter, kind }, after, limit),
        publicBaseUrl,
      );
    },
  });

const entryRoute = (deps: LogDeps) =>
  restRoute({
    method: "GET",
    path: `${LOG_PATH}/:id`,
    access: normalKey,
    summary: "A generation: its request, state and result; or a text request and its cost",
    responses: {
      200: { description: "The generation", schema: z.union([generationSchema, textSchema]) },
      404: notFound,
    },
    handle: async ({ caller, http }) => {
      const id = idOf(http);
      const entry = await findEntry(deps.generationLog, caller, id);
      if (entry !== undefined) return generationAnswer(entry, deps.publicBaseUrl);
      return (isUuid(id) ? await findText(deps, caller, id) : undefined) ?? refuseUnknown();
    },
  });

const deleteRoute = (deps: LogDeps) =>
  restRoute({
    method: "DELETE",
    path: `${LOG_PATH}/:id`,
    access: normalKey,
    summary: "Delete the files and prompt of a generation, or cancel it; its cost stays in the log",
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
      const { id, removed } = await removeContent(deps, caller, idOf(http));
      return reply.status(removed === "ended" ? 200 : 202).send({ id, deleted: true });
    },
  });

const idOf = ({ params }: FastifyRequest) => (params as { id: string }).id;
