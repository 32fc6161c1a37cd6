// traceRequests creates the span of a request at an HTTP port, and sets the current request and its principal.
import { SpanKind } from "@opentelemetry/api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { currentRequest, inRequest, type Trace } from "../process/current-request.ts";
import { failSpan } from "./spans.ts";
import type { Origin, Tracing } from "./tracing.ts";

/** To be called before any other hook is added. */
export function traceRequests(app: FastifyInstance, tracing: Tracing | undefined, origin: Origin): void {
  if (tracing === undefined) {
    app.addHook("onRequest", ({ id }, _reply, done) => {
      inRequest({ id, principal: null, trace: undefined }, done);
    });
    return;
  }
  const spans = new WeakMap<FastifyRequest, Trace["span"]>();
  app.addHook("onRequest", (request, _reply, done) => {
    inRequest({ id: request.id, principal: null, trace: begin(request) }, done);
  });
  const begin = (request: FastifyRequest): Trace | undefined => {
    const { headers, method, id } = request;
    const parent = tracing.parentOf(headers, origin);
    if (parent === undefined) return undefined;
    const attributes = { "http.request.method": method, "gr.request.id": id };
    const span = tracing.tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    spans.set(request, span);
    return { tracer: tracing.tracer, span };
  };
  app.addHook("onResponse", (request, reply, done) => {
    const span = spans.get(request);
    if (span !== undefined) endSpan(span, request, reply);
    done();
  });
}

function endSpan(span: Trace["span"], request: FastifyRequest, reply: FastifyReply): void {
  const { url: route } = request.routeOptions;
  // The route as it was declared: paths of hosted media are secrets.
  if (route !== undefined) {
    span.updateName(`${request.method} ${route}`);
    span.setAttribute("http.route", route);
  }
  const { accountId, keyId } = (request.principal ?? {}) as { accountId?: string; keyId?: string };
  if (accountId !== undefined) span.setAttribute("gr.account.id", accountId);
  if (keyId !== undefined) span.setAttribute("gr.key.id", keyId);
  span.setAttribute("http.response.status_code", reply.statusCode);
  if (reply.statusCode >= 500) failSpan(span, String(reply.statusCode));
  else if (!reply.raw.writableFinished) failSpan(span, "client_left");
  span.end();
}

/** Sets the principal for the request's handlers and for log lines. */
export function setPrincipal(request: FastifyRequest, principal: object | null): void {
  request.principal = principal;
  const current = currentRequest();
  if (current !== undefined) current.principal = principal;
}
