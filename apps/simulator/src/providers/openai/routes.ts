// OpenAI's HTTP surface, to be mounted at /openai/v1.
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { UpstreamStatement } from "../../bill/statement.ts";
import type { MediaRoom } from "../../media/media-room.ts";
import { startExchange } from "../../reply/text-exchange.ts";
import { keyOf } from "../../request/key.ts";
import { Refusal } from "../../request/refusal.ts";
import { isObject } from "../../request/request-fields.ts";
import { callerRequestId, type Simulation, uniqueHex, unixSeconds } from "../../request/simulation.ts";
import { IMAGE_MODELS, MODELS_CREATED, TEXT_MODELS } from "../../text/models.ts";
import { readChatRequest, readResponsesRequest } from "../../text/text-request.ts";
import { type CostsQuery, costsAnswer } from "./costs.ts";
import { readEditRequest } from "./edit-request.ts";
import { openAiErrorHandler, sendOpenAiError } from "./errors.ts";
import { answerHeaders } from "./headers.ts";
import { type OpenAiImageRequest, readImageRequest } from "./image-request.ts";
import { imageAnswer, imageEvents, imageOrder } from "./images.ts";
import { checkPreviousResponse, openAiChat, openAiResponses } from "./text-wires.ts";

/** Sixteen pictures of ordinary size. */
const MOST_EDIT_BYTES = 512 * 1024 * 1024;
const NO_KEY =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";

export function openAiRoutes(simulation: Simulation, media: MediaRoom, statement: UpstreamStatement) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(openAiErrorHandler);
    app.setNotFoundHandler((request, reply) =>
      sendOpenAiError(reply, "not-found", {
        "error.message": `Invalid URL (${request.method} ${request.url})`,
      }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const token = keyOf(request, "authorization", "Bearer");
      if (token !== undefined && token !== "invalid") next();
      else refuseKey(reply, token);
    });

    app.get<{ Querystring: CostsQuery }>("/organization/costs", (request, reply) => {
      const answer = costsAnswer(statement, request.query);
      if (answer !== undefined) return reply.type("application/json").send(answer);
      return sendOpenAiError(reply, "invalid-parameter", { "error.message": "Invalid query of costs." });
    });

    app.get("/models", (_request, reply) => reply.send({ object: "list", data: modelRows() }));

    app.post("/chat/completions", (request, reply) => {
      const body = readChatRequest(request.body, "openai");
      const ids = newIds(request, `chatcmpl-${uniqueHex(32)}`);
      return startExchange(simulation, openAiChat, ids, body, reply.raw, () => reply.hijack());
    });

    app.post("/responses", (request, reply) => {
      if (isObject(request.body)) checkPreviousResponse(request.body);
      const body = readResponsesRequest(request.body, "openai");
      const ids = newIds(request, `resp_${uniqueHex(32)}`);
      return startExchange(simulation, openAiResponses, ids, body, reply.raw, () => reply.hijack());
    });

    const answerImages = async (
      name: "image_generation" | "image_edit",
      asked: OpenAiImageRequest,
      request: FastifyRequest,
      reply: FastifyReply,
    ) => {
      const ownId = `req_${uniqueHex(32)}`;
      const order = imageOrder(asked, callerRequestId(request.headers) ?? ownId);
      const result = await media.generate(order, reply);
      if (result === undefined) return reply;
      reply.headers(answerHeaders(ownId));
      if (asked.streamed === undefined)
        return reply.type("application/json").send(imageAnswer(asked, result));
      const events = Readable.from(imageEvents(name, asked, result), { objectMode: false });
      return reply.type("text/event-stream; charset=utf-8").send(events);
    };

    app.post("/images/generations", async (request, reply) =>
      answerImages("image_generation", readImageRequest(request.body), request, reply),
    );

    app.register(async (scope) => {
      scope.addContentTypeParser("multipart/form-data", { parseAs: "buffer" }, (_request, body, done) =>
        done(null, body),
      );
      scope.post("/images/edits", { bodyLimit: MOST_EDIT_BYTES }, async (request, reply) => {
        const { body } = request;
        if (!Buffer.isBuffer(body))
          throw new Refusal("invalid", "The request body must be a multipart form.");
        const order = await readEditRequest(request.headers["content-type"] ?? "", body);
        return answerImages("image_edit", order, request, reply);
      });
    });
  };
}

function newIds(request: FastifyRequest, id: string) {
  const requestId = callerRequestId(request.headers) ?? id;
  return { id, requestId, upstream: "openai", created: unixSeconds() } as const;
}

function refuseKey(reply: FastifyReply, token: string | undefined): void {
  const none = { "error.message": NO_KEY, "error.code": null };
  sendOpenAiError(reply, "bad-key", token === undefined ? none : {});
}

function modelRows() {
  return [...TEXT_MODELS.keys(), ...IMAGE_MODELS.keys()].map((id) => ({
    id,
    object: "model",
    created: MODELS_CREATED,
    owned_by: "sandbox",
  }));
}
