// OpenRouter's HTTP surface, to be mounted at /openrouter/api/v1.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { UpstreamStatement } from "../../bill/statement.ts";
import type { MediaRoom } from "../../media/media-room.ts";
import { startExchange } from "../../reply/text-exchange.ts";
import { keyOf } from "../../request/key.ts";
import { isObject } from "../../request/request-fields.ts";
import { sendCaptured } from "../../request/send-captured.ts";
import { callerRequestId, type Simulation, uniqueHex, unixSeconds } from "../../request/simulation.ts";
import { readChatRequest, readResponsesRequest } from "../../text/text-request.ts";
import { activityAnswer } from "./activity.ts";
import { openRouterErrorHandler, sendNotFound } from "./errors.ts";
import { generationBody } from "./generation.ts";
import { openRouterMediaRoutes } from "./media-routes.ts";
import { modelList } from "./models.ts";
import { checkStateless, openRouterChat, openRouterResponses } from "./text-wires.ts";

export function openRouterRoutes(simulation: Simulation, media: MediaRoom, statement: UpstreamStatement) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(openRouterErrorHandler);
    app.setNotFoundHandler((_request, reply) => sendNotFound(reply));
    // Like the real one, the list of models is public.
    const models = modelList();
    app.get("/models", (_request, reply) => reply.type("application/json").send(models));

    await app.register(async (keyed) => {
      keyed.addHook("onRequest", (request, reply, next) => {
        const problem = credentialProblem(request);
        if (problem === undefined) next();
        else sendCaptured(reply, problem);
      });

      await keyed.register(openRouterMediaRoutes(media));

      keyed.get<{ Querystring: { date?: string } }>("/activity", (request, reply) => {
        const answer = activityAnswer(statement, request.query.date);
        if (answer !== undefined) return reply.type("application/json").send(answer);
        const message = "Date must be within the last 30 days, as YYYY-MM-DD";
        return sendCaptured(reply, "openrouter/invalid-parameter", { "error.message": message });
      });

      keyed.post("/chat/completions", (request, reply) => {
        const body = readChatRequest(request.body, "openrouter");
        return startExchange(simulation, openRouterChat, newIds(request), body, reply.raw, () =>
          reply.hijack(),
        );
      });

      keyed.post("/responses", (request, reply) => {
        if (isObject(request.body)) checkStateless(request.body);
        const body = readResponsesRequest(request.body, "openrouter");
        return startExchange(simulation, openRouterResponses, newIds(request), body, reply.raw, () =>
          reply.hijack(),
        );
      });

      keyed.get<{ Querystring: { id?: string } }>("/generation", (request, reply) => {
        const id = request.query.id ?? "";
        const items = simulation.bill.find(id);
        const last = items.at(-1);
        if (last === undefined) return sendNotFound(reply);
        return reply.type("application/json").send(generationBody(items, last));
      });
    });
  };
}

function newIds(request: FastifyRequest) {
  const created = unixSeconds();
  const id = `gen-${created}-${uniqueHex(20)}`;
  return { id, requestId: callerRequestId(request.headers) ?? id, upstream: "openrouter", created } as const;
}

function credentialProblem(request: FastifyRequest): string | undefined {
  const token = keyOf(request, "authorization", "Bearer");
  if (token === undefined) return "openrouter/no-key";
  return token === "invalid" ? "openrouter/bad-key" : undefined;
}
