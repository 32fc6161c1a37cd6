// Vercel's AI Gateway, to be mounted at /vercel/v1: OpenAI's chat completions and responses, with the cost in the usage as a string.
// Refusals are captured errors of OpenAI, in the same format, because no error of the gateway was captured.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { startExchange, type TextWire } from "../../reply/text-exchange.ts";
import { keyOf } from "../../request/key.ts";
import { callerRequestId, type Simulation, uniqueHex, unixSeconds } from "../../request/simulation.ts";
import { readChatRequest, readResponsesRequest } from "../../text/text-request.ts";
import { openAiErrorHandler, sendOpenAiError } from "../openai/errors.ts";
import { generationBody } from "../openrouter/generation.ts";
import { openRouterChat, openRouterResponses } from "../openrouter/text-wires.ts";

/** Within strings of an answer, quotes are escaped. */
const COST = /"cost":([\d.]+)/;

export function vercelRoutes(simulation: Simulation) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(openAiErrorHandler);
    app.setNotFoundHandler((_request, reply) =>
      sendOpenAiError(reply, "not-found", { "error.message": "Not Found" }),
    );
    app.addHook("onRequest", (request, reply, next) => {
      const token = keyOf(request, "authorization", "Bearer");
      if (token !== undefined && token !== "invalid") next();
      else sendOpenAiError(reply, "bad-key", {});
    });

    app.post("/chat/completions", (request, reply) => {
      const body = readChatRequest(request.body, "vercel");
      return startExchange(
        simulation,
        withCostAsString(openRouterChat),
        newIds(request),
        body,
        reply.raw,
        () => reply.hijack(),
      );
    });

    app.post("/responses", (request, reply) => {
      const body = readResponsesRequest(request.body, "vercel");
      const wire = withCostAsString(openRouterResponses);
      return startExchange(simulation, wire, newIds(request), body, reply.raw, () => reply.hijack());
    });

    app.get<{ Querystring: { id?: string } }>("/generation", (request, reply) => {
      const items = simulation.bill.find(request.query.id ?? "");
      const last = items.at(-1);
      if (last === undefined) return sendOpenAiError(reply, "not-found", { "error.message": "Not Found" });
      return reply.type("application/json").send(generationBody(items, last));
    });
  };
}

function withCostAsString(wire: TextWire): TextWire {
  const quote = (text: string) => text.replace(COST, '"cost":"$1"');
  return {
    headers: wire.headers,
    whole: (answer, usage) => quote(wire.whole(answer, usage)),
    frames: (answer) => {
      const frames = wire.frames(answer);
      return { ...frames, closing: (usage) => quote(frames.closing(usage)) };
    },
  };
}

function newIds(request: FastifyRequest) {
  const id = `gen_${uniqueHex(20)}`;
  return { id, requestId: callerRequestId(request.headers) ?? id, created: unixSeconds() };
}
