// REST mounts connect modules: a local module's routes are registered on the public app, requests for a remote one are
// forwarded with a signed principal. Both ways the module sees the same request and the same `request.principal`.
import { ServiceError } from "@gr/proto";
import type { FastifyInstance } from "fastify";
import { request as httpRequest } from "undici";
import type { Clock } from "../process/clock.ts";
import { PRINCIPAL_HEADER, readPrincipal, signPrincipal } from "../rpc/principal.ts";
import { REQUEST_ID_HEADER } from "../rpc/rpc-interceptors.ts";
import { traceHeaders } from "../telemetry/spans.ts";
import { setPrincipal } from "../telemetry/trace-requests.ts";
import { headersForModules } from "./client-headers.ts";
import { forwardRequests, type MountPoint } from "./forward-request.ts";
import { registerScope } from "./http-app.ts";
import { type RestApi, registerRest } from "./rest-api.ts";

/** Path of a module's description for the gateway; never reachable from outside. */
export const DESCRIBE_PATH = "/openapi-paths.json";

const DESCRIBE_TIMEOUT_MS = 5_000;
/** Well below the lifetime of a token. */
const TOKEN_REUSE_MS = 20_000;

export interface RemoteRest {
  readonly module: string;
  readonly baseUrl: string;
  readonly secret: string;
  readonly clock: Clock;
}

/** Serves the routes under the points of a module of this process. */
export async function mountLocal(app: FastifyInstance, points: readonly MountPoint[], api: RestApi) {
  const isUnder = (path: string, { prefix }: MountPoint) => path === prefix || path.startsWith(`${prefix}/`);
  const routes = api.routes.filter(({ path }) => points.some((point) => isUnder(path, point)));
  /** Headers that the point of a route adds, by the route's path. */
  const keeps = new Map(routes.map(({ path }) => [path, points.find((one) => isUnder(path, one))?.keeps]));
  await registerScope(app, "mounted routes", async (scope) => {
    scope.addHook("onRequest", (request, _reply, done) => {
      request.raw.headers = headersForModules(request.raw.headers, keeps.get(request.routeOptions.url ?? ""));
      done();
    });
    await registerRest(scope, { ...api, routes });
  });
}

/** Forwards everything under the points to a module in another process. */
export async function mountRemote(app: FastifyInstance, points: readonly MountPoint[], remote: RemoteRest) {
  const sign = principalSigner(remote);
  await forwardRequests(app, points, {
    baseUrl: remote.baseUrl,
    ownHeaders: (request) => ({
      [PRINCIPAL_HEADER]: sign(request.principal),
      [REQUEST_ID_HEADER]: request.id,
      ...traceHeaders(),
    }),
  });
}

const NOBODY = {};

/** Returns a signer that caches its tokens: successive requests of one caller carry the same token. */
function principalSigner({ secret, module, clock }: RemoteRest): (principal: object | null) => string {
  const signed = new WeakMap<object, { token: string; at: number }>();
  return (principal) => {
    const known = signed.get(principal ?? NOBODY);
    if (known !== undefined && clock.now() - known.at < TOKEN_REUSE_MS) return known.token;
    const token = signPrincipal(secret, module, principal, clock);
    signed.set(principal ?? NOBODY, { token, at: clock.now() });
    return token;
  };
}

/** Serves a module's routes in a service process: requests without a valid principal token are refused. */
export async function serveForwarded(
  app: FastifyInstance,
  module: string,
  api: RestApi,
  trust: { trustedSecrets: readonly string[]; clock: Clock },
): Promise<void> {
  await registerScope(app, "mounted routes", async (scope) => {
    scope.addHook("onRequest", async (request) => {
      const token = request.headers[PRINCIPAL_HEADER];
      const principal =
        typeof token === "string"
          ? readPrincipal(trust.trustedSecrets, module, token, trust.clock)
          : undefined;
      if (principal === undefined)
        throw new ServiceError("invalid_api_key", "Call the gateway, not this port.");
      setPrincipal(request, principal);
    });
    await registerRest(scope, api);
  });
}

/** OpenAPI path items of a remote module. @throws ServiceError service_unavailable */
export async function describeRemote(remote: RemoteRest): Promise<Record<string, object>> {
  try {
    const response = await httpRequest(new URL(DESCRIBE_PATH, remote.baseUrl), {
      headersTimeout: DESCRIBE_TIMEOUT_MS,
      bodyTimeout: DESCRIBE_TIMEOUT_MS,
    });
    const described = (await response.body.json()) as Record<string, Record<string, object>>;
    const own = response.statusCode === 200 ? described[remote.module] : undefined;
    if (own === undefined) throw new Error(`${DESCRIBE_PATH} was answered with ${response.statusCode}`);
    return own;
  } catch (error) {
    const message = `The ${remote.module} service did not describe its routes; try again shortly.`;
    throw new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause: error });
  }
}
