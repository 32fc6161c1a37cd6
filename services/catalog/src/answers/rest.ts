// GET /v1/models and its variant for SDKs with a base URL that ends in /v1/compat, which lists the models of chats.
// Both are public. A key with allow-lists gets the models that it may use
// ([why](../../../../docs/decisions/0080-keys-allow-models-and-providers.md)).
import { type AllowLists, optionalKey } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { anyone, type RestApi, type RestRequest, type RestRoute, restRoute } from "@gr/runtime";
import type { LiveCatalog } from "../offer/live-catalog.ts";
import { type Answer, createListAnswers } from "./list-answers.ts";
import { type ModelQuery, modelQuery } from "./model-query.ts";
import { modelList, modelRecord } from "./model-record.ts";

const CACHE_CONTROL = "public, max-age=60";
/** The gateway refuses an invalid key on these paths, too, so a cache must not share an answer between keys. */
const VARY = "authorization";
/** Characters of an unknown id in an error message. */
const MOST_ID_ECHOED = 200;

export function catalogRest(live: Pick<LiveCatalog, "current">): RestApi {
  const answers = createListAnswers(live);
  return {
    routes: [
      listRoute("/v1/models", "List image and video models", (query, allowed) =>
        answers.list(query, "media", allowed),
      ),
      findRoute("/v1/models/*", "One model; slashes in its id may be written unchanged or as %2F", (id) => {
        const answer = answers.find(id);
        if (answer !== undefined) return answer;
        const message = `The model "${[...id].slice(0, MOST_ID_ECHOED).join("")}" does not exist.`;
        throw new ServiceError("model_not_found", message, { param: "model" });
      }),
      listRoute(
        "/v1/compat/models",
        "List text models: those that a chat client can call; type=all lists all",
        (query, allowed) => answers.list(query, "text", allowed),
      ),
      findRoute(
        "/v1/compat/models/*",
        "One model, by its id or by the part of its id after the last slash",
        answers.require,
      ),
    ],
  };
}

type ListAnswer = (query: ModelQuery, allowed: AllowLists | undefined) => Answer;

function listRoute(path: string, summary: string, answer: ListAnswer): RestRoute {
  return restRoute({
    method: "GET",
    path,
    access: optionalKey,
    summary,
    query: modelQuery,
    responses: {
      200: { description: "The models; with a key, those that the key allows", schema: modelList },
      304: { description: "The client has this version already, by If-None-Match" },
      400: { description: "A query parameter has an unknown value" },
    },
    handle: async ({ query, caller, http, reply }) => send(answer(query, caller?.allowed), http, reply),
  });
}

function findRoute(path: string, summary: string, find: (name: string) => Answer): RestRoute {
  return restRoute({
    method: "GET",
    path,
    access: anyone,
    summary,
    responses: {
      200: { description: "The model", schema: modelRecord },
      304: { description: "The client has this version already, by If-None-Match" },
      404: { description: "The model does not exist" },
    },
    handle: async ({ http, reply }) => {
      const { "*": id = "" } = http.params as { "*"?: string };
      return send(find(id), http, reply);
    },
  });
}

function send({ body, etag }: Answer, http: RestRequest["http"], reply: RestRequest["reply"]) {
  // Weak: the gateway compresses these answers.
  reply.header("etag", `W/${etag}`).header("cache-control", CACHE_CONTROL).header("vary", VARY);
  if (holds(http.headers["if-none-match"], etag)) return reply.status(304).send();
  return reply.type("application/json; charset=utf-8").send(body);
}

/** Weak comparison, as If-None-Match requires. A tag may contain commas and stars, so it is read with its quotes. */
function holds(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === "*" || (header.match(/"[^"]*"/g)?.includes(etag) ?? false);
}
