// Hands requests on to a module in another process: bodies are streamed both ways, nothing is ever sent twice, and
// a client that leaves ends the request there too. Whether an error is safe to retry is told apart here: a request
// that was never sent is, one that was sent and changes something has an unknown outcome.
import type { IncomingHttpHeaders } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import { ServiceError } from "@gr/proto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Dispatcher, Pool } from "undici";
import { headersForModules } from "./client-headers.ts";

const CONNECT_TIMEOUT_MS = 3_000;
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
  forward(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>;
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
      const gone = new AbortController();
      reply.raw.once("close", () => {
        if (!reply.raw.writableFinished) gone.abort();
      });
      try {
        const answer = await pool.request({
          method: request.method as Dispatcher.HttpMethod,
          path: request.raw.url ?? "/",
          headers: { ...withoutHops(headersForModules(request.headers)), ...ownHeaders(request) },
          body: bodyOf(request),
          signal: gone.signal,
        });
        reply.status(answer.statusCode).headers(withoutHops(answer.headers));
        return reply.send(answer.body);
      } catch (error) {
        throw lost(request.method, error);
      }
    },
    close: () => pool.close(),
  };
}

/** Piped, because undici destroys the body that it is given when an answer comes early, and with it the client. */
function bodyOf({ raw, headers }: FastifyRequest): Readable | null {
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  return hasBody ? raw.pipe(new PassThrough()) : null;
}

function withoutHops(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const kept: IncomingHttpHeaders = {};
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
