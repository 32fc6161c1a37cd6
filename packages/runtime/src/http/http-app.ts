// The Fastify app that every HTTP port of ours is: request ids, the one error renderer, 404 and 405 in our envelope,
// limits against slow, oversized and ambiguous requests. Routes are added by the callers.
import { type IncomingMessage, METHODS, type Server, type ServerResponse } from "node:http";
import { Socket } from "node:net";
import { ServiceError } from "@gr/proto";
import {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import { holdExpectedBodies } from "../bodies/expected-bodies.ts";
import { StalledUploads, type UploadLimits } from "../bodies/stalled-uploads.ts";
import type { Logger } from "../process/logger.ts";
import { pause } from "../process/pause.ts";
import { REQUEST_ID_HEADER } from "../rpc/rpc-interceptors.ts";
import { traceRequests } from "../telemetry/trace-requests.ts";
import type { Origin, Tracing } from "../telemetry/tracing.ts";
import { mostConnections, readLimits } from "./most-connections.ts";
import { answerOneAtATime } from "./one-at-a-time.ts";
import { announceIdleTime, type ConnectionLimits, OpenConnections } from "./open-connections.ts";
import { refuseAmbiguous } from "./refuse-ambiguous.ts";
import { renderError, renderRawHttp } from "./render-error.ts";
import { type AnswerLimits, cutUnreadAnswers } from "./unread-answers.ts";

const DEFAULT_BODY_LIMIT = 1024 * 1024;
/** How long the rest of a body is read and thrown away after the answer has been sent. */
const LINGER_MS = 5_000;
/** Longer than proxies in front keep theirs. */
const OUTSIDE_IDLE_MS = 75_000;
/** It is announced, so that gateways drop a connection before a drain (STOP_DRAIN_MS) is over. */
const INSIDE_IDLE_MS = 5_000;
/** How often connections that have become idle are looked for while the app closes. */
const IDLE_SWEEP_MS = 50;

/** Characters of a path in a message. */
const MOST_ECHOED = 200;

const HEAD = Buffer.from("HEAD ");

/** Methods that Node reads, without that of tunnels. */
export const FORWARDED_METHODS: readonly string[] = METHODS.filter((method) => method !== "CONNECT");

export interface HttpAppOptions {
  readonly log: Logger;
  /** Chooses the id of a request; it is answered as x-request-id. */
  readonly requestId: (request: IncomingMessage) => string;
  /** For ports that strangers reach; absent: uploads may be as slow as the whole request. */
  readonly uploads?: UploadLimits;
  /** For ports that strangers reach; absent: a connection without a place is refused, and nobody has a share. */
  readonly connections?: Partial<ConnectionLimits>;
  /** For ports that strangers reach; absent: an answer waits until its client has taken it. */
  readonly answers?: AnswerLimits;
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: no request is traced. */
  readonly tracing?: Tracing | undefined;
  /** Who sends requests here; strangers when absent. */
  readonly origin?: Origin;
}

export function createHttpApp({
  log,
  requestId,
  uploads,
  connections,
  answers,
  headers = {},
  tracing,
  origin = "outside",
}: HttpAppOptions): FastifyInstance {
  const refuse = (error: NodeJS.ErrnoException, socket: Socket, id: string) =>
    refuseBadHttp(error, socket, { ...headers, [REQUEST_ID_HEADER]: id });
  const settings: FastifyHttpOptions<Server> = {
    bodyLimit: DEFAULT_BODY_LIMIT,
    genReqId: (request) => requestId(request as IncomingMessage),
    requestIdHeader: false,
    // A client gets 10 s to send its headers and two minutes for a large body.
    requestTimeout: 120_000,
    keepAliveTimeout: origin === "inside" ? INSIDE_IDLE_MS : OUTSIDE_IDLE_MS,
    connectionTimeout: 0,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5_000,
      maxHeaderSize: 16 * 1024,
      // Refused in refuseAmbiguous instead, with our envelope.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 500 },
    clientErrorHandler: (error, socket) =>
      refuse(error as NodeJS.ErrnoException, socket, requestId({ headers: {} } as IncomingMessage)),
    frameworkErrors: (error, request, reply) => {
      const rendered = renderError(error, request.id);
      const untyped = reply as unknown as FastifyReply;
      untyped.status(rendered.status).headers({ ...headers, ...rendered.headers });
      void untyped.header(REQUEST_ID_HEADER, request.id).send(rendered.body);
    },
  };
  const app: FastifyInstance = fastify(settings);
  boundConnections(app, connections, answers);
  answerEveryMethod(app);
  holdExpectedBodies(app.server);
  // An expectation that Node does not know is no reason to answer outside our envelope.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  // Without a listener, Node closes the connection and says nothing.
  app.server.on("connect", (request, socket) => {
    const refusal = new ServiceError("invalid_http", "This is no proxy.");
    socket.end(renderRawHttp(refusal, { ...headers, [REQUEST_ID_HEADER]: requestId(request) }));
  });
  app.decorateRequest("principal", null);
  if (origin === "outside") answerOneAtATime(app);
  traceRequests(app, tracing, origin);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header(REQUEST_ID_HEADER, request.id).headers(headers);
    announceIdleTime(request.raw, reply);
    refuseAmbiguous(request.raw);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const rendered = renderError(error, request.id);
    // Whatever a client that has left runs into is nobody's failure.
    if (rendered.unexpected && !request.raw.socket.destroyed) {
      log.error({ err: error, requestId: request.id, path: request.routeOptions.url }, "request failed");
    }
    // Fastify closes the connection on bodies that are too large; see linger.
    keepConnection(reply);
    // Whoever meant to answer something else, such as a file, has said so before it failed.
    reply.removeHeader("cache-control").removeHeader("etag").type("application/json; charset=utf-8");
    return reply.status(rendered.status).headers(rendered.headers).send(rendered.body);
  });
  app.addHook("onResponse", (request, _reply, done) => {
    if (!request.raw.complete) linger(request.raw);
    done();
  });
  if (uploads !== undefined) cutStalledUploads(app, uploads, refuse);
  answerUnknownRoutes(app);
  return app;
}

/** Of a reply, whatever kind of server its type says. */
interface AnyReply {
  readonly raw: object;
  removeHeader(name: string): unknown;
  header(name: string, value: string): unknown;
}

/**
 * Undoes what a library has said of the connection. Node would say nothing of one that has to end where the header was
 * removed.
 */
export function keepConnection(reply: AnyReply): void {
  if ((reply.raw as ServerResponse).shouldKeepAlive) reply.removeHeader("connection");
  else reply.header("connection", "close");
}

const UNLIMITED: ConnectionLimits = {
  most: Number.POSITIVE_INFINITY,
  mostOfOwner: Number.POSITIVE_INFINITY,
  ownerOf: () => undefined,
  closed: () => undefined,
};

function boundConnections(
  app: FastifyInstance,
  limits: Partial<ConnectionLimits> | undefined,
  answers: AnswerLimits | undefined,
): void {
  const most = mostConnections(readLimits());
  if (limits === undefined && answers === undefined) {
    app.server.maxConnections = most;
    return;
  }
  const connections = new OpenConnections(app.server, { ...UNLIMITED, most, ...limits });
  if (answers !== undefined) cutUnreadAnswers(app, connections, answers);
}

function cutStalledUploads(
  app: FastifyInstance,
  limits: UploadLimits,
  refuse: (error: NodeJS.ErrnoException, socket: Socket, id: string) => void,
): void {
  const uploads = new StalledUploads(limits, ({ raw: { socket }, id }) => {
    refuse({ code: "ERR_HTTP_REQUEST_TIMEOUT" } as NodeJS.ErrnoException, socket, id);
    // Now, not only when the client ends its side, too: whoever reads the body must hear of it.
    socket.destroySoon();
  });
  app.addHook("onRequest", (request, _reply, done) => {
    const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
    const hasBody = length !== "0" || encoding !== undefined;
    if (hasBody && request.raw.socket instanceof Socket) uploads.begin(request);
    done();
  });
  app.addHook("onResponse", (request, _reply, done) => {
    uploads.end(request);
    done();
  });
}

/**
 * A client that is still sending when it is refused would lose the answer if the connection were closed at once:
 * what arrives at a closed socket resets it. So the rest is read for a while and dropped.
 */
function linger(request: IncomingMessage): void {
  const { socket } = request;
  // Requests that are injected without a connection have nothing to wait for.
  if (!(socket instanceof Socket)) return;
  // Once the rest has come, the connection belongs to other requests.
  setTimeout(() => {
    if (!request.complete) socket.destroy();
  }, LINGER_MS).unref();
  request.unpipe();
  request.resume();
}

/**
 * Answers everybody once more, with the word that the connection was good for this answer only, until there are no
 * connections or the time is over. One that is closed while it is idle may carry a request at that very moment, whose sender
 * cannot know what became of it; one whose end was announced carries none.
 */
export async function drainHttpApp({ server }: FastifyInstance, forMs: number): Promise<void> {
  if (forMs === 0 || !server.listening) return;
  server.prependListener("request", (_request, response) => {
    response.shouldKeepAlive = false;
  });
  const over = AbortSignal.timeout(forMs);
  const connections = () => new Promise<number>((resolve) => server.getConnections((_e, n) => resolve(n)));
  while (!over.aborted && (await connections()) > 0) await pause(IDLE_SWEEP_MS, over);
}

/** Stops accepting, lets running requests finish for at most `graceMs`, then cuts their connections. */
export async function closeHttpApp(app: FastifyInstance, graceMs: number): Promise<void> {
  // Connections whose request ends after the close has begun would otherwise stay for their keep-alive time.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

/** Methods that a request may have and that no route of ours has are routed like the others, without a look at their bodies. */
function answerEveryMethod(app: FastifyInstance): void {
  // The framework would read a body of QUERY, and refuse it without a type.
  const unknown = FORWARDED_METHODS.filter(
    (method) => method === "QUERY" || !app.supportedMethods.includes(method),
  );
  for (const method of unknown) app.addHttpMethod(method, { overrideExisting: true });
}

/** 405 with Allow when the path exists under another method, else 404. */
function answerUnknownRoutes(app: FastifyInstance): void {
  const routes: { parts: readonly string[]; methods: readonly string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    // A route for all paths (CORS has one) says nothing about which paths exist.
    if (url !== "*") routes.push({ parts: url.split("/"), methods: [method].flat() });
  });
  app.setNotFoundHandler(async (request, reply) => {
    const path = pathOf(request);
    const parts = path.split("/");
    const allowed = new Set(routes.flatMap((route) => (isUnder(route.parts, parts) ? route.methods : [])));
    if (allowed.size === 0) throw routeNotFound(request);
    if (request.headers.upgrade?.toLowerCase() === "websocket") {
      const message = `${path.slice(0, MOST_ECHOED)} takes no WebSocket; send HTTP requests with POST.`;
      throw new ServiceError("websocket_not_supported", message);
    }
    reply.header("allow", [...allowed].sort().join(", "));
    throw new ServiceError(
      "method_not_allowed",
      `${request.method} is not allowed on ${path.slice(0, MOST_ECHOED)}.`,
    );
  });
}

/** Compares the parts of a path with those of a route, one after the other: in linear time, whatever the client sends. */
function isUnder(route: readonly string[], path: readonly string[]): boolean {
  for (const [index, part] of route.entries()) {
    if (part === "*") return index < path.length;
    const sent = path[index];
    if (part.startsWith(":") ? !sent : sent !== part) return false;
  }
  return route.length === path.length;
}

/** The refusal of a path that does not exist. It shows the path, and of a long one the beginning. */
export function routeNotFound(request: FastifyRequest): ServiceError {
  return new ServiceError("route_not_found", `There is no ${pathOf(request).slice(0, MOST_ECHOED)} here.`);
}

/** What the client sent, up to the query. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split("?", 1)[0] ?? "";
}

/** Requests that Node's parser refuses never reach Fastify; they get our envelope too. */
function refuseBadHttp(
  error: NodeJS.ErrnoException,
  socket: Socket,
  headers: Readonly<Record<string, string>>,
): void {
  // Node keeps the answer that is being sent here; another one in its middle would be read as part of it.
  const answering = (socket as Socket & { _httpMessage?: { headersSent: boolean } })._httpMessage;
  if (error.code === "ECONNRESET" || !socket.writable || answering?.headersSent === true) {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === "HPE_HEADER_OVERFLOW"
      ? new ServiceError("headers_too_large", "The request headers are larger than 16 KB.")
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? new ServiceError("request_timeout", "The request did not arrive in time.")
        : new ServiceError("invalid_http", "The request is not valid HTTP.");
  // Without a body after HEAD, behind which a client would take it for the next answer.
  const { rawPacket } = error as { rawPacket?: Buffer };
  const isHead = rawPacket?.subarray(0, HEAD.length).equals(HEAD) === true;
  socket.end(renderRawHttp(refusal, headers, isHead ? "head" : "whole"));
}
