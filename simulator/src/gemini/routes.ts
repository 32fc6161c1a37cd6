// Google's HTTP surface, to be mounted at /gemini/v1beta.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { keyOf } from "../key.ts";
import type { MediaRoom } from "../media/media-room.ts";
import { refusalHandler } from "../media/refusal-handler.ts";
import type { Refusal, RefusalReason } from "../refusal.ts";
import { callerRequestId, uniqueHex } from "../simulation.ts";
import { contentAnswer, readContentRequest, refusedContent } from "./content.ts";
import { interactionView, readInteraction } from "./interactions.ts";

const GENERATE = ":generateContent";
const DOWNLOAD = ":download";

const STATUS: Readonly<Record<RefusalReason, string>> = {
  invalid: "INVALID_ARGUMENT",
  unknown_model: "NOT_FOUND",
  no_vision: "INVALID_ARGUMENT",
  no_endpoint: "NOT_FOUND",
  blocked: "PROHIBITED_CONTENT",
  rate_limited: "RESOURCE_EXHAUSTED",
  overloaded: "UNAVAILABLE",
  failed: "INTERNAL",
};
const RETRY_INFO = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1s" };

function errorOf({ message, reason }: Refusal, code: number): object {
  const details = reason === "rate_limited" ? { details: [RETRY_INFO] } : {};
  return { error: { code, message, status: STATUS[reason], ...details } };
}

function refuseKey(reply: FastifyReply, key: string | undefined): void {
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" };
  const wrong = {
    code: 400,
    message: "API key not valid. Please pass a valid API key.",
    status: "INVALID_ARGUMENT",
  };
  const none = {
    code: 403,
    message: "Method doesn't allow unregistered callers (callers without established identity).",
    status: "PERMISSION_DENIED",
  };
  const error = key === undefined ? none : { ...wrong, details: [info] };
  reply.code(error.code).send({ error });
}

const requestIdOf = ({ headers }: FastifyRequest) => callerRequestId(headers) ?? uniqueHex(32);

/** Only the key opens it. */
const fileLink = (request: FastifyRequest) => (name: string) =>
  `http://${request.host}/gemini/v1beta/files/${name}${DOWNLOAD}?alt=media`;

export function geminiRoutes(media: MediaRoom) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(refusalHandler({ bodyOf: errorOf }));
    app.addHook("onRequest", (request, reply, next) => {
      const key = keyOf(request, "x-goog-api-key", "");
      if (key !== undefined && key !== "invalid") next();
      else refuseKey(reply, key);
    });

    app.post<{ Params: { call: string } }>("/models/:call", async (request, reply) => {
      const { call } = request.params;
      if (!call.endsWith(GENERATE)) return reply.code(404).send();
      const asked = readContentRequest(call.slice(0, -GENERATE.length), request.body, requestIdOf(request));
      const made = await media.make(asked.order, reply).catch((error: Refusal) => {
        if (error.reason !== "blocked") throw error;
        return "blocked" as const;
      });
      if (made === undefined) return reply;
      return reply.send(made === "blocked" ? refusedContent() : contentAnswer(asked, made));
    });

    app.post("/interactions", (request, reply) => {
      const job = media.submit(readInteraction(request.body, requestIdOf(request)), reply);
      return job === undefined ? reply : reply.send(interactionView(job, fileLink(request)));
    });

    app.get<{ Params: { id: string } }>("/interactions/:id", (request, reply) => {
      const job = media.poll(request.params.id);
      return job === undefined
        ? unknownInteraction(reply)
        : reply.send(interactionView(job, fileLink(request)));
    });

    app.post<{ Params: { id: string } }>("/interactions/:id/cancel", (request, reply) => {
      const job = media.cancel(request.params.id);
      return job === undefined
        ? unknownInteraction(reply)
        : reply.send(interactionView(job, fileLink(request)));
    });

    app.get<{ Params: { name: string }; Querystring: { alt?: string } }>("/files/:name", (request, reply) => {
      const { name } = request.params;
      const isDownload = name.endsWith(DOWNLOAD) && request.query.alt === "media";
      const file = isDownload ? media.files.find(name.slice(0, -DOWNLOAD.length)) : undefined;
      if (file !== undefined) return reply.type(file.type).send(file.bytes);
      const message = "You do not have permission to access the File or it may not exist.";
      return reply.code(403).send({ error: { code: 403, message, status: "PERMISSION_DENIED" } });
    });
  };
}

/** Not 404, as the real one. */
function unknownInteraction(reply: FastifyReply): FastifyReply {
  return reply.code(400).send({ error: { code: "invalid_request", message: "Invalid interaction name" } });
}
