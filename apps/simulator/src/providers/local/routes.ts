// A self-hosted server with OpenAI's format, like vLLM, Ollama, llama.cpp and LM Studio: no key, no prices, no cost.
// To be mounted at /local/v1. The bill has a cost all the same, so that a router's accounts can be compared with it.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { startExchange } from "../../reply/text-exchange.ts";
import { callerRequestId, type Simulation, uniqueHex, unixSeconds } from "../../request/simulation.ts";
import { MODELS_CREATED, TEXT_MODELS } from "../../text/models.ts";
import { readChatRequest, readResponsesRequest } from "../../text/text-request.ts";
import { openAiErrorHandler, sendOpenAiError } from "../openai/errors.ts";
import { openAiChat, openAiResponses } from "../openai/text-wires.ts";

export function localRoutes(simulation: Simulation) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(openAiErrorHandler);
    app.setNotFoundHandler((_request, reply) =>
      sendOpenAiError(reply, "not-found", { "error.message": "Not Found" }),
    );
    const data = [...TEXT_MODELS.keys()].map((id) => ({
      ...{ id, object: "model", created: MODELS_CREATED, owned_by: "local" },
    }));
    app.get("/models", (_request, reply) => reply.send({ object: "list", data }));

    app.post("/chat/completions", (request, reply) => {
      const body = readChatRequest(request.body, "local");
      const ids = newIds(request, `chatcmpl-${uniqueHex(32)}`);
      return startExchange(simulation, openAiChat, ids, body, reply.raw, () => reply.hijack());
    });

    app.post("/responses", (request, reply) => {
      const body = readResponsesRequest(request.body, "local");
      const ids = newIds(request, `resp_${uniqueHex(32)}`);
      return startExchange(simulation, openAiResponses, ids, body, reply.raw, () => reply.hijack());
    });
  };
}

function newIds(request: FastifyRequest, id: string) {
  return { id, requestId: callerRequestId(request.headers) ?? id, created: unixSeconds() };
}
