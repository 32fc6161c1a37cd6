// The current request is the request of the running work, available in all code: log lines name it, and the spans of a
// sampled trace are connected. It has few facts and no bodies, since a pooled connection retains the request of its
// creation.
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import type { Link, Span, Tracer } from "@opentelemetry/api";

/** Parent of the next span of a traced request. */
export interface Trace {
  readonly tracer: Tracer;
  readonly span: Span;
  /** Other requests that share the next span. */
  readonly links?: readonly Link[];
}

export interface CurrentRequest {
  readonly id: string;
  /** Principal of the request, once authenticated. */
  principal: object | null;
  readonly trace: Trace | undefined;
}

const requests = new AsyncLocalStorage<CurrentRequest | undefined>();

export function currentRequest(): CurrentRequest | undefined {
  return requests.getStore();
}

export function inRequest<Args extends unknown[], Result>(
  request: CurrentRequest,
  work: (...args: Args) => Result,
  ...args: Args
): Result {
  return requests.run(request, work, ...args);
}

/** Runs work as a part of the request that was current at its creation. */
export type Within = <Args extends unknown[], Result>(
  work: (...args: Args) => Result,
  ...args: Args
) => Result;

/** For what is called back by whatever belongs to other requests, such as a pooled connection. */
export function withinCurrentRequest(): Within {
  // Equivalent to AsyncLocalStorage.snapshot(), at a third of its price.
  const resource = new AsyncResource("CurrentRequest");
  return (work, ...args) => resource.runInAsyncScope(work, undefined, ...args);
}

/** For work that belongs to no request, or to many. */
export const outsideRequests: Within = AsyncLocalStorage.snapshot();

/** The same request, but what is done now comes below this span. */
export function withinTrace<Result>(trace: Trace, work: () => Result): Result {
  const current = requests.getStore();
  const request = { id: current?.id ?? "", principal: current?.principal ?? null, trace };
  return requests.run(request, work);
}

/** What a log line says about its request. */
export function currentLogFields(): Record<string, string> {
  const request = requests.getStore();
  if (request === undefined) return {};
  const fields: Record<string, string> = {};
  if (request.id !== "") fields["requestId"] = request.id;
  const { accountId, keyId } = (request.principal ?? {}) as { accountId?: string; keyId?: string };
  if (accountId !== undefined) fields["accountId"] = accountId;
  if (keyId !== undefined) fields["keyId"] = keyId;
  if (request.trace !== undefined) {
    const { traceId, spanId } = request.trace.span.spanContext();
    fields["trace_id"] = traceId;
    fields["span_id"] = spanId;
  }
  return fields;
}
