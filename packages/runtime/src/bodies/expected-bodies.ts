// Expected bodies wait at the client for a 100 response (`Expect: 100-continue`). The client gets it once its request
// is admitted and its credit is checked. Until then it sends no body, and a refused client never does.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";

/**
 * Header from the gateway to a module in another process, on a request without a body: bytes of a body that waits.
 * The module answers 204 if the body may be sent, or refuses the request. (HTTP clients send no head before a body.)
 */
const BODY_WAITS = "x-gr-body-waits";
const UNKNOWN_LENGTH = "unknown";

const waiting = new WeakSet<IncomingMessage>();

/** Prevents Node's automatic 100 responses. */
export function holdExpectedBodies(server: Server): void {
  server.on("checkContinue", (request, response) => {
    waiting.add(request);
    server.emit("request", request, response);
  });
}

export function isWaiting(request: IncomingMessage): boolean {
  return waiting.has(request);
}

/** Requests the body once nothing prevents it; a client that does not wait gets no message. */
export function callForBody(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request) && !response.headersSent) response.writeContinue();
}

/** Returns the headers of the query, instead of those that describe a body. */
export function questionHeaders(headers: IncomingMessage["headers"]): Record<string, string> {
  return { [BODY_WAITS]: headers["content-length"] ?? UNKNOWN_LENGTH };
}

/** Returns the bytes of a waiting body elsewhere; NaN if their number is unknown. */
export function askedLength({ headers }: FastifyRequest): number | undefined {
  const asked = headers[BODY_WAITS];
  return asked === undefined ? undefined : Number(asked);
}

/** Must be called after the setup of all other hooks that may refuse a request of the scope. */
export function callForBodies(scope: FastifyInstance): void {
  scope.addHook("preParsing", (request, reply, _payload, done) => {
    if (askedLength(request) !== undefined) {
      void reply.status(204).send();
      return;
    }
    callForBody(request.raw, reply.raw);
    done();
  });
}
