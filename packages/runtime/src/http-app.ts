// The Fastify app that every HTTP port of ours is: request ids, the one error renderer, 404 and 405 in our envelope,
// limits against slow and oversized requests. Routes are added by the callers.
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "@gr/proto";
import { type FastifyHttpOptions, type FastifyInstance, type FastifyReply, fastify } from "fastify";
import type { Logger } from "./logger.ts";
import { renderError, renderRawHttp } from "./render-error.ts";
import { REQUEST_ID_HEADER } from "./rpc-interceptors.ts";

const DEFAULT_BODY_LIMIT = 1024 * 1024;

export interface HttpAppOptions {
  readonly log: Logger;
  /** Chooses the id of a request; it is answered as x-request-id. */
  readonly requestId: (request: IncomingMessage) => string;
}

export function createHttpApp({ log, requestId }: HttpAppOptions): FastifyInstance {
  const settings: FastifyHttpOptions<Server> = {
    bodyLimit: DEFAULT_BODY_LIMIT,
    genReqId: (request) => requestId(request as IncomingMessage),
    requestIdHeader: false,
    // A client gets 10 s to send its headers and two minutes for a large body.
    requestTimeout: 120_000,
    keepAliveTimeout: 75_000,
    connectionTimeout: 0,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 5_000, maxHeaderSize: 16 * 1024 },
    routerOptions: { maxParamLength: 500 },
    clientErrorHandler: (error, socket) =>
      refuseBadHttp(error as NodeJS.ErrnoException, socket, requestId({ headers: {} } as IncomingMessage)),
    frameworkErrors: (error, request, reply) => {
      const { status, headers, body } = renderError(error, request.id);
      const untyped = reply as unknown as FastifyReply;
      void untyped.status(status).headers(headers).header(REQUEST_ID_HEADER, request.id).send(body);
    },
  };
  const app: FastifyInstance = fastify(settings);
  app.decorateRequest("principal", null);
  app.addHook("onRequest", async (request, reply) => {
    reply.header(REQUEST_ID_HEADER, request.id);
  });
  app.setErrorHandler((error, request, reply) => {
    const rendered = renderError(error, request.id);
    if (rendered.unexpected) {
      log.error({ err: error, requestId: request.id, path: request.routeOptions.url }, "request failed");
    }
    return reply.status(rendered.status).headers(rendered.headers).send(rendered.body);
  });
  answerUnknownRoutes(app);
  return app;
}

/** 405 with Allow when the path exists under another method, else 404. */
function answerUnknownRoutes(app: FastifyInstance): void {
  const routes: { pattern: RegExp; methods: readonly string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    const source = url
      .replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll(/:\w+/g, "[^/]+")
      .replaceAll("*", ".*");
    routes.push({ pattern: new RegExp(`^${source}$`), methods: [method].flat() });
  });
  app.setNotFoundHandler(async (request, reply) => {
    const path = request.url.split("?", 1)[0] ?? "";
    const allowed = new Set(routes.flatMap(({ pattern, methods }) => (pattern.test(path) ? methods : [])));
    if (allowed.size === 0) throw new ServiceError("route_not_found", `There is no ${path} here.`);
    reply.header("allow", [...allowed].sort().join(", "));
    throw new ServiceError("method_not_allowed", `${request.method} is not allowed on ${path}.`);
  });
}

/** Requests that Node's parser refuses never reach Fastify; they get our envelope too. */
function refuseBadHttp(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === "HPE_HEADER_OVERFLOW"
      ? new ServiceError("headers_too_large", "The request headers are larger than 16 KB.")
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? new ServiceError("invalid_json", "The request did not arrive in time.")
        : new ServiceError("invalid_json", "The request is not valid HTTP.");
  socket.end(renderRawHttp(refusal, requestId));
}
