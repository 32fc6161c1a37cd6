// The in-process transport is a Connect transport that calls implementations in this process. Messages are copied, so
// both sides keep the network's guarantees: no shared memory, the same byte limit, the same interceptors and deadlines.
// Connect's own in-memory transport is slower and does not end a stream's implementation after its reader's end.
import type { DescMessage, DescMethod, MessageInitShape } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type StreamRequest,
  type Transport,
  type UnaryRequest,
} from "@connectrpc/connect";
import { Deadline } from "./deadline.ts";
import { copyMessage } from "./message-copy.ts";
import type { RpcService } from "./rpc-service.ts";

type Implementation = (request: object, context: HandlerContext) => unknown;
type AnyRequest = UnaryRequest | StreamRequest;
type Call = ReturnType<Interceptor>;

export function createInProcessTransport(
  services: readonly RpcService[],
  interceptors: readonly Interceptor[],
): Transport {
  const implementations = new Map<string, Implementation>();
  for (const { desc, impl } of services) {
    for (const method of desc.methods) {
      const fn = impl[method.localName];
      if (fn !== undefined) implementations.set(nameOf(method), (fn as Implementation).bind(impl));
    }
  }
  const implementationOf = (method: DescMethod): Implementation => {
    const known = implementations.get(nameOf(method));
    if (known !== undefined) return known;
    throw new ConnectError(`${method.name} is not served`, Code.Unimplemented);
  };
  const intercepted = (call: Call): Call =>
    interceptors.reduceRight((next, interceptor) => interceptor(next), call);

  return {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const implementation = implementationOf(method);
      const deadline = new Deadline(timeoutMs, signal);
      try {
        deadline.check();
        const request = {
          ...requestOf(method, deadline, header, contextValues),
          stream: false,
          message: copyMessage(method.input, message),
        } as UnaryRequest;
        const call = intercepted((incoming) => answerUnary(implementation, incoming, timeoutMs));
        return (await Promise.race([call(request), deadline.passed])) as never;
      } finally {
        deadline.clear();
      }
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      if (method.methodKind !== "server_streaming") {
        throw new ConnectError(`${method.name} cannot be called within a process`, Code.Unimplemented);
      }
      const implementation = implementationOf(method);
      const deadline = new Deadline(timeoutMs, signal);
      try {
        deadline.check();
        const request = {
          ...requestOf(method, deadline, header, contextValues),
          stream: true,
          message: input,
        } as StreamRequest;
        const call = intercepted((incoming) => answerStream(implementation, incoming, timeoutMs));
        const response = await Promise.race([call(request), deadline.passed]);
        return {
          ...response,
          message: untilLeft(response.message as AsyncIterable<object>, deadline),
        } as never;
      } catch (error) {
        deadline.clear();
        throw error;
      }
    },
  };
}

function nameOf(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

function requestOf(
  method: DescMethod,
  deadline: Deadline,
  header: Parameters<Transport["unary"]>[3],
  contextValues: HandlerContext["values"] | undefined,
) {
  return {
    service: method.parent,
    method,
    requestMethod: "POST",
    url: `in-process:/${nameOf(method)}`,
    header: new Headers(header),
    contextValues: contextValues ?? createContextValues(),
    signal: deadline.signal,
  };
}

function contextOf(request: AnyRequest, timeoutMs: number | undefined): HandlerContext {
  const started = Date.now();
  return {
    service: request.service,
    method: request.method,
    protocolName: "in-process",
    requestMethod: request.requestMethod,
    url: request.url,
    requestHeader: request.header,
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    values: request.contextValues,
    signal: request.signal,
    timeoutMs: () => (timeoutMs === undefined ? undefined : started + timeoutMs - Date.now()),
  };
}

async function answerUnary(
  implementation: Implementation,
  request: AnyRequest,
  timeoutMs: number | undefined,
) {
  const context = contextOf(request, timeoutMs);
  const output = await implementation(request.message, context);
  const message = copyMessage(request.method.output, output as MessageInitShape<DescMessage>);
  return { ...answerOf(context), stream: false, message } as never;
}

async function answerStream(
  implementation: Implementation,
  request: AnyRequest,
  timeoutMs: number | undefined,
) {
  const context = contextOf(request, timeoutMs);
  let only: MessageInitShape<DescMessage> | undefined;
  for await (const message of request.message as AsyncIterable<MessageInitShape<DescMessage>>) only = message;
  const output = implementation(copyMessage(request.method.input, only ?? {}), context);
  const message = copies(request.method.output, output as AsyncIterable<MessageInitShape<DescMessage>>);
  return { ...answerOf(context), stream: true, message } as never;
}

function answerOf({ service, method, responseHeader, responseTrailer }: HandlerContext) {
  return { service, method, header: responseHeader, trailer: responseTrailer };
}

async function* copies(desc: DescMessage, messages: AsyncIterable<MessageInitShape<DescMessage>>) {
  for await (const message of messages) yield copyMessage(desc, message);
}

/** Passes messages on; the end of the reader also ends the implementation, at any of its steps. */
async function* untilLeft<T>(messages: AsyncIterable<T>, deadline: Deadline): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]();
  // A waiting implementation receives the signal; one that has paused at a yield ends through its finally blocks.
  // Its failure has no reader any more; answerErrors has logged it.
  const leave = () => void iterator.return?.().catch(() => undefined);
  deadline.signal.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), deadline.passed]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    deadline.clear();
    deadline.end(new ConnectError("the reader disconnected", Code.Canceled));
  }
}
