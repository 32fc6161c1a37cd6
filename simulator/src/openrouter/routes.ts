// OpenRouter's HTTP surface, to be mounted at /openrouter/api/v1.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { keyOf } from "../key.ts";
import type { MediaRoom } from "../media/media-room.ts";
import { isObject } from "../request-fields.ts";
import { callerRequestId, type Simulation, uniqueHex, unixSeconds } from "../simulation.ts";
import type { UpstreamStatement } from "../statement.ts";
import { startExchange } from "../text-exchange.ts";
import { readChatRequest, readResponsesRequest } from "../text-request.ts";
import { activityAnswer } from "./activity.ts";
import { openRouterErrorHandler, sendOpenRouterError } from "./errors.ts";
import { generationBody } from "./generation.ts";
import { openRouterMediaRoutes } from "./media-routes.ts";
import { modelList } from "./models.ts";
import { checkStateless, openRouterChat, openRouterResponses } from "./text-wires.ts";

export function openRouterRoutes(simulation: Simulation, media: MediaRoom, statement: UpstreamStatement) {
  return async (app: FastifyInstance): Promise<void> => {
    app.setErrorHandler(openRouterErrorHandler);
    app.setNotFoundHandler((_request, reply) => sendOpenRouterError(reply, 404, "Not Found"));
    // Like the real one, the list of models is public.
    const models = modelList();
    app.get("/models", (_request, reply) => reply.type("application/json").send(models));

    await app.register(async (keyed) => {
      keyed.addHook("onRequest", (request, reply, next) => {
        const problem = credentialProblem(request);
        if (problem === undefined) next();
        else sendOpenRouterError(reply, 401, problem);
      });

      await keyed.register(openRouterMediaRoutes(media));

      keyed.get<{ Querystring: { date?: string } }>("/activity", (request, reply) => {
        const answer = activityAnswer(statement, request.query.date);
        if (answer !== undefined) return reply.type("application/json").send(answer);
        return sendOpenRouterError(reply, 400, "Date must be within the last 30 days, as YYYY-MM-DD");
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
        if (last === undefined) return sendOpenRouterError(reply, 404, `Generation ${id} not found`);
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
  if (token === undefined) return "No cookie auth credentials found";
  return token === "invalid" ? "User not found." : undefined;
}
