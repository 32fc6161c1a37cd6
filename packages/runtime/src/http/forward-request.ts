// forwardRequests forwards requests to a module in another process with @fastify/http-proxy. Nothing is ever sent
// twice, bodies flow both ways, and a disconnect of the client ends the request there too. An error is safe to retry if
// the request was never sent. An error after a sent change is not.
import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { ServiceError } from "@gr/proto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Dispatcher, Pool } from "undici";
import { callForBody, isWaiting, questionHeaders } from "../bodies/expected-bodies.ts";
import { headersForModules } from "./client-headers.ts";
import { FORWARDED_METHODS, keepConnection, registerScope } from "./http-app.ts";

const CONNECT_TIMEOUT_MS = 3_000;
const LONGEST_SILENCE_MS = 4 * 3_600_000;
/** Bodies up to this many bytes are sent in one piece, which costs a fraction of a stream. */
const SMALL_BODY = 64 * 1024;
/** Requests that change nothing may always be repeated. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
/** Headers that describe a connection, not the answer. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** Errors before a connection, so nothing was sent. */
const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  // This process, or the machine, has no descriptor for a socket.
  "EMFILE",
  "ENFILE",
]);

/** A part of a public HTTP app that another module serves. */
export interface MountPoint {
  readonly prefix: string;
  /**
   * Longest silence of a module in another process, before its answer and within it; then the request counts as lost.
   * Absent: hours, because a generation without a stream may need that time.
   */
  readonly longestSilenceMs?: number;
  /** Request headers, in lower case, for its module besides the common ones. */
  readonly keeps?: readonly string[];
}

export interface ForwardTarget {
  readonly baseUrl: string;
  /** Returns the request's facts for the module as headers, beside the client's headers. */
  readonly ownHeaders: (request: FastifyRequest) => Record<string, string>;
}

/** Forwards everything under the points, for all methods: the module decides which it answers. */
export async function forwardRequests(
  app: FastifyInstance,
  points: readonly MountPoint[],
  { baseUrl, ownHeaders }: ForwardTarget,
): Promise<void> {
  // Loaded on demand: a process that forwards nothing does not load the library.
  const { default: httpProxy } = await import("@fastify/http-proxy");
  const upstream = new URL(baseUrl).origin;
  // Each waiting client is one connection here as well.
  const pool = new Pool(upstream, { pipelining: 1, connect: { timeout: CONNECT_TIMEOUT_MS } });
  await registerScope(app, "forwarded requests", async (scope) => {
    scope.addHook("onClose", () => pool.close());
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", passBody);
    scope.addHook("preParsing", (request, reply, _payload, done) => {
      if (isSmall(request)) callForBody(request.raw, reply.raw);
      done();
    });
    for (const { prefix, keeps, longestSilenceMs = LONGEST_SILENCE_MS } of points) {
      await scope.register(httpProxy, {
        upstream,
        routes: [prefix, `${prefix}/*`],
        httpMethods: [...FORWARDED_METHODS],
        proxyPayloads: false,
        internalRewriteLocationHeader: false,
        disableRequestLogging: true,
        undici: senderTo(pool),
        handler: (request, reply, path, options) => {
          // The client has disconnected during the authentication.
          if (reply.raw.closed) return void reply.hijack();
          const carried = { [CLIENT]: clientOf(request, reply) };
          const known = { ...requestHeaders(request, keeps), ...ownHeaders(request) };
          const headers = { ...known, ...carried };
          const forward = () =>
            reply.from(path, {
              ...options,
              ...bodyOption(request.body),
              rewriteRequestHeaders: () => headers,
            });
          if (!isWaiting(request.raw)) return void forward();
          void mayBodyCome(pool, request, reply, known, longestSilenceMs).then((may) => may && forward());
        },
        replyOptions: {
          timeout: longestSilenceMs,
          // Answers of 503 are answers, too: the library would repeat the request for them.
          retryDelay: () => null,
          rewriteHeaders: withoutHops,
          onResponse: (_request, reply, { stream }) => {
            // The library closes connections that still upload; see linger in http-app.ts.
            keepConnection(reply);
            reply.send(stream);
          },
          onError: (reply, { error }) => reply.send(lost(reply.request.method, error.cause)),
        },
      });
    }
  });
}

/**
 * Queries the module about a body that waits at its client, and requests the body. If the module refuses, the client
 * gets its refusal.
 */
async function mayBodyCome(
  pool: Pool,
  request: FastifyRequest,
  reply: FastifyReply,
  known: IncomingHttpHeaders,
  longestSilenceMs: number,
): Promise<boolean> {
  const { raw } = request;
  const { "content-length": _length, ...headers } = known;
  try {
    const answer = await pool.request({
      method: "POST",
      ...clientOf(request, reply),
      headers: { ...headers, ...questionHeaders(raw.headers) },
      headersTimeout: longestSilenceMs,
    });
    if (answer.statusCode !== 204) {
      reply.status(answer.statusCode).headers(withoutHops(answer.headers)).send(answer.body);
      return false;
    }
    await answer.body.dump();
    callForBody(raw, reply.raw);
    return true;
  } catch (cause) {
    // The query alone has changed nothing.
    reply.send(lost("GET", cause));
    return false;
  }
}

/**
 * Key under which the headers transport the client to the sender, because the library has no place for it; it is never
 * sent.
 */
const CLIENT = Symbol("client");

interface Client {
  /** Path in the client's spelling, not in the library's. */
  readonly path: string;
  /** Emits "abort" at the client's disconnect. */
  readonly signal: EventEmitter;
}

function clientOf({ raw }: FastifyRequest, reply: FastifyReply): Client {
  const signal = new EventEmitter();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) signal.emit("abort");
  });
  return { path: raw.url ?? "/", signal };
}

/** Returns the library's sender; its type belongs to the library's undici, which is another version than ours. */
function senderTo(pool: Pool) {
  const request = (options: Dispatcher.RequestOptions, done: RequestDone): void => {
    const client = (options.headers as { [CLIENT]?: Client })[CLIENT];
    if (client === undefined) throw new Error("the library has lost the client of a request");
    pool.request({ ...options, ...client }, done);
  };
  return { request } as never;
}

type RequestDone = (error: Error | null, answer: Dispatcher.ResponseData) => void;

/** Returns true for a body that no module checks credit for. */
function isSmall({ headers }: FastifyRequest): boolean {
  return Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= SMALL_BODY;
}

/** Parses bodies of forwarded routes: small bodies as bytes, others as streams. */
function passBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
): void {
  // Piped, because undici destroys the body after an early answer, and with it the client.
  if (!isSmall(request)) {
    done(null, payload.pipe(new PassThrough()));
    return;
  }
  const chunks: Buffer[] = [];
  payload.on("data", (chunk: Buffer) => chunks.push(chunk));
  payload.once("end", () => done(null, Buffer.concat(chunks)));
  payload.once("error", done);
}

/**
 * Returns the library's body option. A stream needs none; bytes would be encoded as JSON unless they have another type.
 */
function bodyOption(body: unknown): { body?: Buffer; contentType?: string } {
  return Buffer.isBuffer(body) ? { body, contentType: "application/octet-stream" } : {};
}

function requestHeaders(
  { headers, body }: FastifyRequest,
  keeps: readonly string[] | undefined,
): IncomingHttpHeaders {
  const kept = headersForModules(headers, keeps);
  delete kept["transfer-encoding"];
  // A body that is not read (that of a GET) is not sent either.
  if (body === undefined || body === null) delete kept["content-length"];
  return kept;
}

function withoutHops<Headers extends Record<string, unknown>>(headers: Headers): Headers {
  for (const name of HOP_BY_HOP) delete headers[name];
  return headers;
}

/** False when the request may have been sent. */
export function neverConnected(error: unknown): boolean {
  return NOT_SENT.has((error as { code?: string } | null)?.code ?? "");
}

function lost(method: string, cause: unknown): ServiceError {
  if (SAFE_METHODS.has(method) || neverConnected(cause)) {
    const message = "This part of the service is not reachable; try again shortly.";
    return new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause });
  }
  const message =
    "The connection to a part of the service was lost while it worked on this request, " +
    "which may have been carried out and charged.";
  return new ServiceError("outcome_unknown", message, { cause });
}
