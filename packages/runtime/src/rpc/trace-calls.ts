// Spans of RPCs, on both sides, the same for calls over the network and within the process. A stream has none: it lasts as
// long as its process.

import type { Interceptor } from "@connectrpc/connect";
import { SpanKind } from "@opentelemetry/api";
import { currentRequest, inRequest } from "../process/current-request.ts";
import { currentSpan, errorType, failSpan, inSpan, traceHeaders } from "../telemetry/spans.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import { REQUEST_ID_HEADER } from "./rpc-interceptors.ts";

/** On the calling side. */
export const traceCalls: Interceptor = (next) => (request) => {
  if (request.stream || currentSpan() === undefined) return next(request);
  const { service, method } = request;
  const attributes = attributesOf(service.typeName, method.name);
  return inSpan(
    `${service.typeName}/${method.name}`,
    () => ({ kind: SpanKind.CLIENT, attributes }),
    () => {
      for (const [name, value] of Object.entries(traceHeaders())) request.header.set(name, value);
      return next(request);
    },
  );
};

/** Answering side: continues the caller's trace if that is sampled. */
export function traceAnswers(tracing: Tracing | undefined): Interceptor {
  return (next) => {
    if (tracing === undefined) return next;
    return async (request) => {
      if (request.stream) return next(request);
      const { header, service, method } = request;
      const traceparent = header.get("traceparent");
      if (traceparent === null) return next(request);
      const parent = tracing.parentOf(
        { traceparent, tracestate: header.get("tracestate") ?? undefined },
        "inside",
      );
      if (parent === undefined) return next(request);
      const { tracer } = tracing;
      const name = `${service.typeName}/${method.name}`;
      const attributes = attributesOf(service.typeName, method.name);
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
      try {
        const current = currentRequest();
        const id = current?.id ?? header.get(REQUEST_ID_HEADER) ?? "";
        const traced = { id, principal: current?.principal ?? null, trace: { tracer, span } };
        return await inRequest(traced, next, request);
      } catch (error) {
        failSpan(span, errorType(error));
        throw error;
      } finally {
        span.end();
      }
    };
  };
}

function attributesOf(service: string, method: string) {
  return { "rpc.system.name": "connectrpc", "rpc.method": `${service}/${method}` };
}
