// Hands requests on to a module in another process: bodies flow both ways, nothing is ever sent twice, and a client
// that leaves ends the request there too. Whether an error is safe to retry is told apart here: a request that was
// never sent is, one that was sent and changes something has an unknown outcome.
import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import { ServiceError } from "@gr/proto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Dispatcher, Pool } from "undici";
import { headersForModules } from "./client-headers.ts";

const CONNECT_TIMEOUT_MS = 3_000;
/** Bodies up to this many bytes are sent in one piece, which costs a fraction of a stream. */
const SMALL_BODY = 64 * 1024;
/** Requests that change nothing may always be sent again. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
/** Headers that describe a connection, not the answer. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** The connection was never made, so nothing was sent. */
const NOT_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

export interface Forwarder {
  forward(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  close(): Promise<void>;
}

/** @param ownHeaders what the receiver must know of a request, added to the client's headers. */
export function createForwarder(
  baseUrl: string,
  ownHeaders: (request: FastifyRequest) => Record<string, string>,
): Forwarder {
  // Generations take minutes, so waiting for an answer has no limit of its own: it ends with the client's connection,
  // and TCP keep-alive notices a host that is gone. Each waiting client is one connection here as well.
  const pool = new Pool(new URL(baseUrl).origin, {
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    async forward(request, reply) {
      const gone = new EventEmitter();
      reply.raw.once("close", () => {
        if (!reply.raw.writableFinished) gone.emit("abort");
      });
      const body = bodyOf(request);
      const options = {
        method: request.method as Dispatcher.HttpMethod,
        path: request.raw.url ?? "/",
        headers: { ...requestHeaders(request.headers, body), ...ownHeaders(request) },
        body,
        signal: gone,
      };
      try {
        await pool.stream(options, ({ statusCode, headers }) => {
          const own = reply.getHeaders() as OutgoingHttpHeaders;
          reply.raw.writeHead(statusCode, { ...own, ...withoutHops(headers) });
          reply.hijack();
          return reply.raw;
        });
      } catch (error) {
        // Once the answer has begun, the only honest way to tell of a failure is its cut connection.
        if (!reply.sent) throw lost(request.method, error);
      }
    },
    close: () => pool.close(),
  };
}

/** Body parser of forwarded routes: small bodies as bytes, others as they come. */
export function takeBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
): void {
  const length = Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY);
  // Piped, because undici destroys the body that it is given when an answer comes early, and with it the client.
  if (!(length <= SMALL_BODY)) {
    done(null, payload.pipe(new PassThrough()));
    return;
  }
  const chunks: Buffer[] = [];
  payload.on("data", (chunk: Buffer) => chunks.push(chunk));
  payload.once("end", () => done(null, Buffer.concat(chunks)));
  payload.once("error", done);
}

function bodyOf({ body }: FastifyRequest): Buffer | Readable | null {
  return body === undefined || body === null ? null : (body as Buffer | Readable);
}

function requestHeaders(headers: IncomingHttpHeaders, body: Buffer | Readable | null): IncomingHttpHeaders {
  const kept = headersForModules(headers);
  delete kept["transfer-encoding"];
  // A body that is not read (that of a GET) is not sent either.
  if (body === null) delete kept["content-length"];
  return kept;
}

function withoutHops(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const kept: OutgoingHttpHeaders = {};
  for (const name in headers) {
    if (!HOP_BY_HOP.has(name)) kept[name] = headers[name];
  }
  return kept;
}

function lost(method: string, cause: unknown): ServiceError {
  const code = (cause as { code?: string } | null)?.code ?? "";
  if (SAFE_METHODS.has(method) || NOT_SENT.has(code)) {
    const message = "This part of the service is not reachable; try again shortly.";
    return new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause });
  }
  const message =
    "The connection to a part of the service was lost while it worked on this request, " +
    "which may have been carried out and charged.";
  return new ServiceError("outcome_unknown", message, { cause });
}
