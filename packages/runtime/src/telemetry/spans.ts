// Spans record the work of a sampled request. An unsampled request has none, and its work costs nothing more.
// Attributes are ids, kinds, counts and names of our own tables: never a header, an address with a query, or a text of
// a caller or a provider.

import { Code, ConnectError } from "@connectrpc/connect";
import { ServiceError } from "@gr/proto";
import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace as traces,
} from "@opentelemetry/api";
import {
  currentRequest,
  inRequest,
  outsideRequests,
  type Trace,
  withinTrace,
} from "../process/current-request.ts";

export { type Attributes, type Span, SpanKind };

export interface SpanOptions {
  /** INTERNAL when absent. */
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
}

/**
 * Does the work, within a span if its request is sampled. The span ends with the work and contains only the kind of an
 * error.
 * @param describe called only for a span
 */
export function inSpan<T>(
  name: string,
  describe: () => SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const trace = currentRequest()?.trace;
  return trace === undefined ? work(undefined) : inSpanBelow(trace, name, describe, work);
}

async function inSpanBelow<T>(
  trace: Trace,
  name: string,
  describe: () => SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const { kind = SpanKind.INTERNAL, attributes = {} } = describe();
  const links = trace.links === undefined ? {} : { links: [...trace.links] };
  const below = traces.setSpan(ROOT_CONTEXT, trace.span);
  const span = trace.tracer.startSpan(name, { kind, attributes, ...links }, below);
  try {
    return await withinTrace({ tracer: trace.tracer, span }, () => work(span));
  } catch (error) {
    failSpan(span, errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Returns the span of the running work; undefined if the request is not sampled. */
export function currentSpan(): Span | undefined {
  return currentRequest()?.trace?.span;
}

export function failSpan(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Returns a word of a fixed set, never the message. */
export function errorType(error: unknown): string {
  if (error instanceof ServiceError) return error.reason;
  if (error instanceof ConnectError) return Code[error.code] ?? "unknown";
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  if (typeof code === "string") return code;
  return typeof name === "string" ? name : "unknown";
}

/** Returns W3C headers with which another process of ours continues the trace; none without a trace. */
export function traceHeaders(): Record<string, string> {
  const context = currentSpan()?.spanContext();
  if (context === undefined) return {};
  const state = context.traceState?.serialize() ?? "";
  return { traceparent: traceParentOf(context), ...(state === "" ? {} : { tracestate: state }) };
}

/** For a host that is not ours, which gets no other header of the caller's trace. */
export function outwardTraceHeaders(): Record<string, string> {
  const context = currentSpan()?.spanContext();
  return context === undefined ? {} : { traceparent: traceParentOf(context) };
}

/** Returns attributes of the remote host. */
export function serverOf({ hostname, port, protocol }: URL): Record<string, string | number> {
  const known = protocol === "https:" ? 443 : 80;
  return { "server.address": hostname, "server.port": port === "" ? known : Number(port) };
}

function traceParentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Work that is done once for several requests: it belongs to the first that is sampled, and is linked to the others. */
export function inTraces<T>(sampled: readonly (Trace | undefined)[], work: () => T): T {
  const [first, ...others] = sampled.filter((trace) => trace !== undefined);
  if (first === undefined) return currentRequest() === undefined ? work() : outsideRequests(work);
  const links: Link[] = others.map(({ span }) => ({ context: span.spanContext() }));
  return inRequest({ id: "", principal: null, trace: { ...first, links } }, work);
}
