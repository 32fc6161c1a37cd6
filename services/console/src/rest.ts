// The console's REST API is the table of @gr/console-api with a handler for each route, behind one permission check.
import { type ConsoleRoute, type ConsoleRouteName, consoleRoutes } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import { anyone, type RestApi, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { ConsoleDeps } from "./console-deps.ts";
import { authorize } from "./door/authorize.ts";
import type { CallerFacts, Handler, Handlers } from "./door/console-call.ts";
import type { RunningWork } from "./door/running-work.ts";
import { STRIPE_WEBHOOK_PATH, stripeWebhook } from "./payments/stripe-webhook.ts";
import { activityRoutes } from "./routes/account/activity-routes.ts";
import { alertRoutes } from "./routes/account/alert-routes.ts";
import { keyRoutes } from "./routes/account/key-routes.ts";
import { ledgerRoutes } from "./routes/account/ledger-routes.ts";
import { memberBudgetRoutes } from "./routes/account/member-budget-routes.ts";
import { memberRoutes } from "./routes/account/member-routes.ts";
import { moneyRoutes } from "./routes/account/money-routes.ts";
import { paymentRoutes } from "./routes/account/payment-routes.ts";
import { requestRoutes } from "./routes/account/request-routes.ts";
import { savedTextRoutes } from "./routes/account/saved-text-routes.ts";
import { standingRoutes } from "./routes/account/standing.ts";
import { topUpRoutes } from "./routes/account/top-up-routes.ts";
import { healthRoutes } from "./routes/operator/health-routes.ts";
import { inspectRoutes } from "./routes/operator/inspect-routes.ts";
import { operatorRoutes } from "./routes/operator/operator-routes.ts";
import { routerRoutes } from "./routes/operator/router-routes.ts";
import { statementRoutes } from "./routes/operator/statement-routes.ts";
import { issuerRoutes } from "./routes/person/issuer-routes.ts";
import { passkeyRoutes } from "./routes/person/passkey-routes.ts";
import { personRoutes } from "./routes/person/person-routes.ts";

const BODY_LIMIT = 64 * 1024;

/** @param work counts each request until its end, even after a disconnect of its client */
export function consoleRest(deps: ConsoleDeps, work: RunningWork): RestApi {
  const handlers: Handlers = {
    ...personRoutes(deps),
    ...issuerRoutes(deps),
    ...passkeyRoutes(deps),
    ...memberRoutes(deps),
    ...memberBudgetRoutes(deps),
    ...keyRoutes(deps),
    ...alertRoutes(deps),
    ...ledgerRoutes(deps),
    ...moneyRoutes(deps),
    ...activityRoutes(deps),
    ...standingRoutes(deps),
    ...requestRoutes(deps),
    ...savedTextRoutes(deps),
    ...paymentRoutes(deps),
    ...topUpRoutes(deps),
    ...operatorRoutes(deps),
    ...inspectRoutes(deps),
    ...routerRoutes(deps),
    ...healthRoutes(deps),
    ...statementRoutes(deps),
  };
  const callers = new WeakMap<FastifyRequest, CallerFacts>();
  const { people, store, operators, config, events } = deps;
  const names = Object.keys(consoleRoutes) as ConsoleRouteName[];
  const { stripe, settling, payments, payers } = deps;
  return {
    refusesNul: true,
    routes: [
      ...names.map((name) => routeOf(consoleRoutes[name], handlers[name] as Handler<never>, callers)),
      ...(stripe && settling ? [stripeWebhook({ stripe, settling, payments, payers, events })] : []),
    ].map((route) => ({ ...route, handle: (request) => work.run(() => route.handle(request)) })),
    setup: async (scope) => {
      scope.addHook("onError", async (_request, _reply, error) => {
        if (error instanceof ServiceError) events.refused(error.reason);
      });
      scope.addHook("onRequest", async (request, reply) => {
        // Refusals too, because the visible data changes with the session.
        reply.header("cache-control", "no-store");
        // Stripe has no session; its signature identifies it.
        if (request.routeOptions.url === STRIPE_WEBHOOK_PATH) return;
        callers.set(
          request,
          await work.run(() =>
            authorize({ people, store, operators, origin: config.CONSOLE_URL }, request, reply),
          ),
        );
      });
    },
  };
}

function routeOf(
  route: ConsoleRoute,
  handle: Handler<never>,
  callers: WeakMap<FastifyRequest, CallerFacts>,
): RestRoute {
  const { method, path, summary, query, body, answer, status = 200 } = route;
  const success = { description: "Done", ...(answer === undefined ? {} : { schema: answer }) };
  return restRoute({
    method,
    path,
    summary,
    access: anyone,
    bodyLimit: BODY_LIMIT,
    ...(query === undefined ? {} : { query: query as z.ZodUndefined }),
    ...(body === undefined ? {} : { body: body as z.ZodUndefined }),
    responses: { [status]: success },
    handle: async ({ http, reply, ...asked }) => {
      const caller = callers.get(http);
      if (caller === undefined) throw new Error("a request has passed without a check of its sender");
      reply.status(status);
      const params = http.params as Record<string, string>;
      const result = await handle({ ...caller, ...asked, params, reply } as never);
      return result ?? reply.send();
    },
  });
}
