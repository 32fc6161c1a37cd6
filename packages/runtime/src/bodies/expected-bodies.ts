// A client may wait for a word before it sends a body (`Expect: 100-continue`). It gets it when the body is wanted: after it
// was let in, and after its credit was asked about. Until then it has sent nothing, and who is refused never does.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";

/**
 * From the gateway to a module in another process, on a request without a body: one of so many bytes waits, may it come?
 * Answered with 204, or as the request would be. (HTTP clients send no head before there is a body.)
 */
const BODY_WAITS = "x-gr-body-waits";
const UNKNOWN_LENGTH = "unknown";

const waiting = new WeakSet<IncomingMessage>();

/** Keeps Node from calling for bodies by itself. */
export function holdExpectedBodies(server: Server): void {
  server.on("checkContinue", (request, response) => {
    waiting.add(request);
    server.emit("request", request, response);
  });
}

export function isWaiting(request: IncomingMessage): boolean {
  return waiting.has(request);
}

/** To be called when nothing stands in the way of the body any more; who does not wait is told nothing. */
export function callForBody(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request) && !response.headersSent) response.writeContinue();
}

/** Of the question whether a body may come, instead of those that describe it. */
export function questionHeaders(headers: IncomingMessage["headers"]): Record<string, string> {
  return { [BODY_WAITS]: headers["content-length"] ?? UNKNOWN_LENGTH };
}

/** Bytes that wait elsewhere for an answer to this request; NaN when nobody knows how many. */
export function askedLength({ headers }: FastifyRequest): number | undefined {
  const asked = headers[BODY_WAITS];
  return asked === undefined ? undefined : Number(asked);
}

/** To be called when all else has been set up that may refuse a request of the scope. */
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
