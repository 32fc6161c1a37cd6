// OpenAI's HTTP surface, to be mounted at /openai/v1.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { DrawingRoom } from "../drawing-room.ts";
import { IMAGE_MODELS, MODELS_CREATED, TEXT_MODELS } from "../models.ts";
import { callerRequestId, type Simulation, uniqueHex, unixSeconds } from "../simulation.ts";
import { startExchange } from "../text-exchange.ts";
import { isObject, readChatRequest, readResponsesRequest } from "../text-request.ts";
import { openAiErrorHandler, plain, sendOpenAiError } from "./errors.ts";
import { answerHeaders } from "./headers.ts";
import { readImageRequest } from "./image-request.ts";
import { generateImages } from "./images.ts";
import { checkPreviousResponse, openAiChat, openAiResponses } from "./text-wires.ts";

const NO_KEY =
  "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";

export function openAiRoutes(simulation: Simulation) {
  const room = new DrawingRoom();
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(openAiErrorHandler);
    app.setNotFoundHandler((request, reply) =>
      sendOpenAiError(
        reply,
        404,
        plain("invalid_request_error", `Invalid URL (${request.method} ${request.url})`),
      ),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
      if (token !== undefined && token !== "invalid") next();
      else refuseKey(reply, token);
    });

    app.get("/models", (_request, reply) => reply.send({ object: "list", data: modelRows() }));

    app.post("/chat/completions", (request, reply) => {
      const body = readChatRequest(request.body);
      const ids = newIds(request, `chatcmpl-${uniqueHex(32)}`);
      startExchange(simulation, openAiChat, ids, body, reply.raw, () => reply.hijack());
    });

    app.post("/responses", (request, reply) => {
      if (isObject(request.body)) checkPreviousResponse(request.body);
      const body = readResponsesRequest(request.body);
      const ids = newIds(request, `resp_${uniqueHex(32)}`);
      startExchange(simulation, openAiResponses, ids, body, reply.raw, () => reply.hijack());
    });

    app.post("/images/generations", async (request, reply) => {
      const order = readImageRequest(request.body);
      if (order.model.fault === "hang") {
        reply.hijack();
        simulation.hang(reply.raw);
        return reply;
      }
      const ownId = `req_${uniqueHex(32)}`;
      const body = await generateImages(simulation, room, order, callerRequestId(request.headers) ?? ownId);
      return reply.headers(answerHeaders(ownId)).type("application/json").send(body);
    });
  };
}

function newIds(request: FastifyRequest, id: string) {
  return { id, requestId: callerRequestId(request.headers) ?? id, created: unixSeconds() };
}

function refuseKey(reply: FastifyReply, token: string | undefined): void {
  const error =
    token === undefined
      ? plain("invalid_request_error", NO_KEY)
      : plain(
          "invalid_request_error",
          `Incorrect API key provided: ${token}. You can find your API key at https://platform.openai.com/account/api-keys.`,
          "invalid_api_key",
        );
  sendOpenAiError(reply, 401, error);
}

function modelRows() {
  return [...TEXT_MODELS.keys(), ...IMAGE_MODELS.keys()].map((id) => ({
    id,
    object: "model",
    created: MODELS_CREATED,
    owned_by: "sandbox",
  }));
}
