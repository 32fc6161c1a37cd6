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
import { freeChunk } from "../bodies/arriving-bytes.ts";
import { holdExpectedBodies } from "../bodies/expected-bodies.ts";
import { announcedLength, incomingBodyOf } from "../bodies/incoming-body.ts";
import { loopTurns } from "../bodies/parse-in-turns.ts";
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
/** Code of Node's error for late headers or bodies. */
const LATE = "ERR_HTTP_REQUEST_TIMEOUT";
/** Time for reading and dropping the rest of a body after the answer. */
const LINGER_MS = 5_000;
/** Interval of Node's search for connections with late headers or bodies. */
const LATE_SWEEP_MS = 500;
/** Late connections that end in one step, of about a millisecond. */
const ENDED_TOGETHER = 50;
/** Bytes that Node keeps of a body that nobody reads. */
const KEPT_UNREAD = 64 * 1024;
/** Longer than the idle time of proxies in front. */
const OUTSIDE_IDLE_MS = 75_000;
/** Announced idle time, so that gateways drop a connection before a drain (STOP_DRAIN_MS) is over. */
const INSIDE_IDLE_MS = 5_000;
/** Interval of the search for idle connections while the app closes. */
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
  /** For public ports; absent: uploads may be as slow as the whole request. */
  readonly uploads?: UploadLimits;
  /** For public ports; absent: a connection without a place is refused, and no owner has a share. */
  readonly connections?: Partial<ConnectionLimits>;
  /** For public ports; absent: an answer waits for its client without a limit. */
  readonly answers?: AnswerLimits;
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: no request is traced. */
  readonly tracing?: Tracing | undefined;
  /** Source of the requests; absent = strangers. */
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
  const hasHeaders = Object.keys(headers).length > 0;
  const refuse = (error: NodeJS.ErrnoException, socket: Socket, id: string) =>
    refuseBadHttp(error, socket, { ...headers, [REQUEST_ID_HEADER]: id });
  const newId = () => requestId({ headers: {} } as IncomingMessage);
  const endLate = lateEnder((socket) => refuse({ code: LATE } as NodeJS.ErrnoException, socket, newId()));
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
      connectionsCheckingInterval: LATE_SWEEP_MS,
      maxHeaderSize: 16 * 1024,
      // Refused in refuseAmbiguous instead, with our envelope.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: true },
    clientErrorHandler: (error, socket) => {
      if (error.code === LATE) endLate(socket);
      else refuse(error as NodeJS.ErrnoException, socket, newId());
    },
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
  // A request with an unknown expectation also gets an answer in our envelope.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  // Without a listener, Node closes the connection without an answer.
  app.server.on("connect", (request, socket) => {
    const refusal = new ServiceError("invalid_http", "This is no proxy.");
    socket.end(renderRawHttp(refusal, { ...headers, [REQUEST_ID_HEADER]: requestId(request) }));
  });
  app.decorateRequest("principal", null);
  if (origin === "outside") answerOneAtATime(app);
  traceRequests(app, tracing, origin);
  app.addHook("onRequest", (request, reply, done) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    if (hasHeaders) reply.headers(headers);
    announceIdleTime(request.raw, reply);
    holdUnread(request);
    refuseAmbiguous(request.raw);
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const rendered = renderError(error, request.id);
    // Errors after a client's disconnect are no failure of ours.
    if (rendered.unexpected && !request.raw.socket.destroyed) {
      log.error({ err: error, requestId: request.id, path: request.routeOptions.url }, "request failed");
    }
    // Fastify closes the connection on bodies that are too large; see linger.
    keepConnection(reply);
    // The handler may have set headers for another answer, such as a file, before it failed.
    reply.removeHeader("cache-control").removeHeader("etag").type("application/json; charset=utf-8");
    return reply.status(rendered.status).headers(rendered.headers).send(rendered.body);
  });
  app.addHook("onResponse", (request, _reply, done) => {
    if (!request.raw.complete) linger(request);
    done();
  });
  if (uploads !== undefined) cutStalledUploads(app, uploads, refuse);
  answerUnknownRoutes(app);
  return app;
}

/** A reply of any server type. */
interface AnyReply {
  readonly raw: object;
  removeHeader(name: string): unknown;
  header(name: string, value: string): unknown;
}

/**
 * Replaces a library's `connection` header. For a connection that must end, it writes `close`, because Node would not.
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
    refuse({ code: LATE } as NodeJS.ErrnoException, socket, id);
    // At once, not only after the client's end, so that the reader of the body learns of it.
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
 * Reads and drops the rest of a refused request for some time. If the connection were closed at once, arriving bytes at
 * the closed socket would reset it, and the sending client would lose the answer.
 */
function linger(request: FastifyRequest): void {
  const { raw } = request;
  const { socket } = raw;
  // Injected requests without a connection need no wait.
  if (!(socket instanceof Socket)) return;
  // Once the rest has arrived, the connection is free for other requests.
  setTimeout(() => {
    if (!raw.complete) socket.destroy();
  }, LINGER_MS).unref();
  const { owner = request.ip } = incomingBodyOf(request) ?? {};
  const drop = async (chunk: Buffer) => {
    raw.pause();
    await loopTurns.step({ owner, cost: chunk.length }, () => freeChunk(raw, chunk));
    raw.resume();
  };
  raw.unpipe();
  raw.on("data", (chunk: Buffer) => void drop(chunk));
  raw.resume();
}

/** Keeps a long body for `linger`: after an answer Node drops a body at full speed if nobody has read from it. */
function holdUnread(request: FastifyRequest): void {
  const { headers, raw } = request;
  const isShort =
    headers["transfer-encoding"] === undefined && (announcedLength(request) ?? 0) <= KEPT_UNREAD;
  // This call reads nothing.
  if (!isShort && raw.socket instanceof Socket) raw.read(0);
}

/**
 * Returns a function that ends a connection with late headers or a late body. Node reports all of them in one turn of the loop, and a
 * crowd that connects together is late together, so only few of them end in one turn.
 */
function lateEnder(refuse: (socket: Socket) => void): (socket: Socket) => void {
  const waiting: (() => void)[] = [];
  let isEnding = false;
  const endAll = async () => {
    isEnding = true;
    while (waiting.length > 0) {
      await loopTurns.step({ owner: "late connections" }, () => {
        for (const end of waiting.splice(0, ENDED_TOGETHER)) end();
      });
    }
    isEnding = false;
  };
  return (socket) => {
    const wasSilent = socket.bytesRead === 0;
    waiting.push(() => {
      if (!wasSilent) refuse(socket);
      // Without a request there is nothing to answer. The time of a request that has just begun is counted from now on.
      else if (socket.bytesRead === 0) socket.destroy();
    });
    if (!isEnding) void endAll();
  };
}

/**
 * Answers each connection once more, with the announcement that it closes, until there are no connections or the time
 * is over. A closed idle connection may carry a request at that moment, and the fate of this request would be unknown.
 * A connection with an announced end carries none.
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

/**
 * Registers a scope of the app. Without the name, Fastify would search all loaded modules for one.
 */
export async function registerScope(
  app: FastifyInstance,
  name: string,
  fill: (scope: FastifyInstance) => Promise<void>,
): Promise<void> {
  await app.register(Object.assign(fill, { [Symbol.for("fastify.display-name")]: name }));
}

/** Stops accepting, lets running requests finish for at most `graceMs`, then cuts their connections. */
export async function closeHttpApp(app: FastifyInstance, graceMs: number): Promise<void> {
  // Otherwise connections with a request that ends during the close would stay for their keep-alive time.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

/** Routes methods without any route of ours like the others, without a look at their bodies. */
function answerEveryMethod(app: FastifyInstance): void {
  // The framework would read a body of QUERY, and refuse it without a type.
  const unknown = FORWARDED_METHODS.filter(
    (method) => method === "QUERY" || !app.supportedMethods.includes(method),
  );
  for (const method of unknown) app.addHttpMethod(method, { overrideExisting: true });
}

/** Answers 405 with Allow if the path exists under another method, else 404. */
function answerUnknownRoutes(app: FastifyInstance): void {
  const routes: { parts: readonly string[]; methods: readonly string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    // A route for all paths (CORS has one) is no evidence of existing paths.
    if (url !== "*") routes.push({ parts: url.split("/"), methods: [method].flat() });
  });
  app.setNotFoundHandler(async (request, reply) => {
    const path = pathOf(request);
    const parts = withoutEndSlash(path).split("/");
    const allowed = new Set(routes.flatMap((route) => (isUnder(route.parts, parts) ? route.methods : [])));
    if (allowed.size === 0) throw routeNotFound(request);
    if (request.headers.upgrade?.toLowerCase() === "websocket") {
      const message = `${path.slice(0, MOST_ECHOED)} accepts no WebSocket; send HTTP requests with POST.`;
      throw new ServiceError("websocket_not_supported", message);
    }
    reply.header("allow", [...allowed].sort().join(", "));
    throw new ServiceError(
      "method_not_allowed",
      `${request.method} is not allowed on ${path.slice(0, MOST_ECHOED)}.`,
    );
  });
}

/** Compares the parts of a path with those of a route, one after the other: in linear time for every input. */
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

/** Returns the request's path without the query. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split("?", 1)[0] ?? "";
}

/** Returns the path that a path with a slash at its end is routed as. */
export function withoutEndSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** Answers requests that Node's parser refuses, in our envelope, because they never reach Fastify. */
function refuseBadHttp(
  error: NodeJS.ErrnoException,
  socket: Socket,
  headers: Readonly<Record<string, string>>,
): void {
  // Node stores the answer in progress here; another one in its middle would be read as part of it.
  const answering = (socket as Socket & { _httpMessage?: { headersSent: boolean } })._httpMessage;
  if (error.code === "ECONNRESET" || !socket.writable || answering?.headersSent === true) {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === "HPE_HEADER_OVERFLOW"
      ? new ServiceError("headers_too_large", "The request headers are larger than 16 KB.")
      : error.code === LATE
        ? new ServiceError("request_timeout", "The request did not arrive in time.")
        : new ServiceError("invalid_http", "The request is not valid HTTP.");
  // No body after HEAD, because a client would read it as the next answer.
  const { rawPacket } = error as { rawPacket?: Buffer };
  const isHead = rawPacket?.subarray(0, HEAD.length).equals(HEAD) === true;
  socket.end(renderRawHttp(refusal, headers, isHead ? "head" : "whole"));
}
