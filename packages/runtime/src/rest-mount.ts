// REST across module borders: a local module's routes are registered on the public app, a remote one's are proxied
// with a signed principal. Both ways the module sees the same request and the same `request.principal`.
import proxy from "@fastify/http-proxy";
import { ServiceError } from "@gr/proto";
import type { FastifyInstance } from "fastify";
import { request as httpRequest } from "undici";
import type { Clock } from "./clock.ts";
import { PRINCIPAL_HEADER, readPrincipal, signPrincipal } from "./principal.ts";
import { type RestApi, registerRest } from "./rest-api.ts";
import { REQUEST_ID_HEADER } from "./rpc-interceptors.ts";

/** Where a module describes its REST routes to the gateway; never reachable from outside. */
export const DESCRIBE_PATH = "/openapi-paths.json";

/** Headers of a client's request that no service may see. */
const WITHHELD = new Set(["authorization", "cookie", "forwarded", PRINCIPAL_HEADER, REQUEST_ID_HEADER]);

export interface RemoteRest {
  readonly module: string;
  readonly baseUrl: string;
  readonly secret: string;
  readonly clock: Clock;
}

/** Forwards everything under the prefixes, bodies streamed both ways. */
export async function mountRemote(app: FastifyInstance, prefixes: readonly string[], remote: RemoteRest) {
  for (const prefix of prefixes) {
    await app.register(proxy, {
      upstream: remote.baseUrl,
      prefix,
      rewritePrefix: prefix,
      undici: { connections: 256, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 },
      replyOptions: {
        rewriteRequestHeaders: (request, headers) => ({
          ...Object.fromEntries(
            Object.entries(headers).filter(
              ([name]) => !WITHHELD.has(name) && !name.startsWith("x-forwarded"),
            ),
          ),
          [PRINCIPAL_HEADER]: signPrincipal(remote.secret, remote.module, request.principal, remote.clock),
          [REQUEST_ID_HEADER]: request.id,
        }),
        onError: (reply) => {
          const message = "This part of the service is not reachable; try again shortly.";
          void reply.send(new ServiceError("service_unavailable", message, { retryAfterMs: 1_000 }));
        },
      },
    });
  }
}

/** Serves a module's routes in a service process: whoever has no valid principal token is refused. */
export async function serveForwarded(
  app: FastifyInstance,
  module: string,
  api: RestApi,
  trust: { secret: string; clock: Clock },
): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook("onRequest", async (request) => {
      const token = request.headers[PRINCIPAL_HEADER];
      const principal =
        typeof token === "string" ? readPrincipal(trust.secret, module, token, trust.clock) : undefined;
      if (principal === undefined)
        throw new ServiceError("invalid_api_key", "Call the gateway, not this port.");
      request.principal = principal;
    });
    await registerRest(scope, api);
  });
}

/** OpenAPI path items of a remote module. @throws ServiceError service_unavailable */
export async function describeRemote(remote: RemoteRest): Promise<Record<string, object>> {
  try {
    const response = await httpRequest(`${remote.baseUrl}${DESCRIBE_PATH}`, { headersTimeout: 5_000 });
    const described = (await response.body.json()) as Record<string, Record<string, object>>;
    return described[remote.module] ?? {};
  } catch (error) {
    const message = `The ${remote.module} service did not describe its routes; try again shortly.`;
    throw new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause: error });
  }
}
