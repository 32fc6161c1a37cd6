// Service clients call other modules. Every call has a deadline; errors arrive as the ServiceError that was thrown on
// the other side. If the other side did not answer at all, the outcome is unknown: the reason is service_unavailable.
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextKey,
  createClient,
  createContextKey,
  createContextValues,
  type Transport,
} from "@connectrpc/connect";
import { fromConnectError, ServiceError } from "@gr/proto";
import { REQUEST_ID_HEADER } from "./rpc-interceptors.ts";

export interface CallOptions {
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  /** Deadline of a unary call; that of its client when absent. */
  readonly timeoutMs?: number;
  /** Address of the process that should answer, from `addressFor`; empty or absent = that of the account in the request. */
  readonly to?: string;
}

/** A transport that chooses among several processes. */
export interface RoutedTransport extends Transport {
  /** Address of the process for this key; empty while there is one process. A promise before the addresses are known. */
  addressOf(key: string): string | Promise<string>;
}

/** The option `to` of a call. */
export const calledAddress: ContextKey<string | undefined> = createContextKey<string | undefined>(undefined);

const routed = new WeakMap<object, RoutedTransport>();

/** Returns the address of the process that a client prefers for an account. Equal addresses can share a call. */
export function addressFor(client: object, accountId: string): string | Promise<string> {
  return routed.get(client)?.addressOf(accountId) ?? "";
}

/** One method per RPC: unary methods answer a promise, server streams an async iterable. */
export type ServiceClient<Desc extends DescService> = {
  readonly [Name in keyof Desc["method"]]: Desc["method"][Name] extends DescMethodUnary<infer In, infer Out>
    ? (request: MessageInitShape<In>, options?: CallOptions) => Promise<MessageShape<Out>>
    : Desc["method"][Name] extends DescMethodServerStreaming<infer In, infer Out>
      ? (request: MessageInitShape<In>, options?: CallOptions) => AsyncIterable<MessageShape<Out>>
      : never;
};

const CALL_TIMEOUT_MS = 10_000;
/** Codes that reveal nothing about the work of the other side. */
const SILENT = new Set<Code>([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.Canceled,
  Code.Unknown,
  Code.Aborted,
]);

type AnyCall = (request: unknown, options: object) => unknown;

/** @param callTimeoutMs deadline of unary calls without a deadline of their own */
export function createServiceClient<Desc extends DescService>(
  desc: Desc,
  module: string,
  transport: Transport,
  callTimeoutMs = CALL_TIMEOUT_MS,
): ServiceClient<Desc> {
  const client = createClient(desc, transport) as unknown as Record<string, AnyCall>;
  const explain = (error: unknown): unknown => {
    const original = fromConnectError(error);
    if (!(original instanceof ConnectError) || !SILENT.has(original.code)) return original;
    const message = `The ${module} service did not answer; try again shortly.`;
    return new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause: error });
  };
  const methods = desc.methods.map((method) => {
    const call = client[method.localName] as AnyCall;
    const wrapped =
      method.methodKind === "unary"
        ? (request: unknown, options?: CallOptions) =>
            (call(request, wireOptions(options, callTimeoutMs)) as Promise<unknown>).catch((error) => {
              throw explain(error);
            })
        : (request: unknown, options?: CallOptions) =>
            explained(call(request, wireOptions(options, undefined)) as AsyncIterable<unknown>, explain);
    return [method.localName, wrapped] as const;
  });
  const wrapped = Object.fromEntries(methods) as ServiceClient<Desc>;
  if ("addressOf" in transport) routed.set(wrapped, transport as RoutedTransport);
  return wrapped;
}

function wireOptions(options: CallOptions | undefined, defaultTimeoutMs: number | undefined): object {
  const timeoutMs = options?.timeoutMs ?? defaultTimeoutMs;
  return {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(options?.signal === undefined ? {} : { signal: options.signal }),
    ...(options?.to ? { contextValues: createContextValues().set(calledAddress, options.to) } : {}),
    ...(options?.requestId === undefined ? {} : { headers: { [REQUEST_ID_HEADER]: options.requestId } }),
  };
}

async function* explained(messages: AsyncIterable<unknown>, explain: (error: unknown) => unknown) {
  try {
    yield* messages;
  } catch (error) {
    throw explain(error);
  }
}
