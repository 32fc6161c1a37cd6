// A Connect transport that calls implementations in this process. Messages are serialised and read back, so both
// sides keep the network's guarantees: no shared memory, the same byte limit, the same interceptors and deadlines.
// Unary calls take a direct path because they are on the money path of every request; streams use Connect's own.
import { create, type DescMessage, type DescMethodUnary, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createContextValues,
  createRouterTransport,
  type HandlerContext,
  type Interceptor,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import type { RpcService } from "./module.ts";
import { MAX_MESSAGE_BYTES } from "./rpc-limits.ts";

type UnaryFn = (request: object, context: HandlerContext) => unknown;

export function createInProcessTransport(
  services: readonly RpcService[],
  interceptors: readonly Interceptor[],
): Transport {
  const streams = createRouterTransport(
    (router) => {
      for (const { desc, impl } of services) router.service(desc, impl);
    },
    {
      router: {
        interceptors: [...interceptors],
        readMaxBytes: MAX_MESSAGE_BYTES,
        writeMaxBytes: MAX_MESSAGE_BYTES,
      },
      transport: { readMaxBytes: MAX_MESSAGE_BYTES, writeMaxBytes: MAX_MESSAGE_BYTES },
    },
  );
  const implementations = new Map<string, UnaryFn>();
  for (const { desc, impl } of services) {
    for (const method of desc.methods) {
      const fn = impl[method.localName];
      if (method.methodKind === "unary" && fn !== undefined) {
        implementations.set(`${desc.typeName}/${method.name}`, (fn as UnaryFn).bind(impl));
      }
    }
  }

  const unary: Transport["unary"] = async (method, signal, timeoutMs, header, message, contextValues) => {
    const implementation = implementations.get(`${method.parent.typeName}/${method.name}`);
    if (implementation === undefined)
      throw new ConnectError(`${method.name} is not served`, Code.Unimplemented);
    const deadline = new Deadline(timeoutMs, signal);
    try {
      const request = {
        stream: false,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: `in-process:/${method.parent.typeName}/${method.name}`,
        header: new Headers(header),
        contextValues: contextValues ?? createContextValues(),
        signal: deadline.signal,
        message: copy(method.input, create(method.input, message)),
      } as UnaryRequest;
      let call = (incoming: UnaryRequest) => invoke(implementation, incoming, timeoutMs);
      for (const interceptor of interceptors.toReversed()) call = interceptor(call as never) as typeof call;
      return (await Promise.race([call(request), deadline.passed])) as never;
    } finally {
      deadline.clear();
    }
  };
  return { unary, stream: streams.stream.bind(streams) };
}

async function invoke(
  implementation: UnaryFn,
  request: UnaryRequest,
  timeoutMs: number | undefined,
): Promise<UnaryResponse> {
  const method: DescMethodUnary = request.method;
  const started = Date.now();
  const responseHeader = new Headers();
  const responseTrailer = new Headers();
  const output = await implementation(request.message, {
    service: request.service,
    method,
    protocolName: "in-process",
    requestMethod: request.requestMethod,
    url: request.url,
    requestHeader: request.header,
    responseHeader,
    responseTrailer,
    values: request.contextValues,
    signal: request.signal,
    timeoutMs: () => (timeoutMs === undefined ? undefined : started + timeoutMs - Date.now()),
  });
  return {
    stream: false,
    service: request.service,
    method,
    header: responseHeader,
    trailer: responseTrailer,
    message: copy(method.output, create(method.output, output as Record<string, unknown>)),
  };
}

function copy<Desc extends DescMessage>(desc: Desc, message: ReturnType<typeof create<Desc>>) {
  const bytes = toBinary(desc, message);
  if (bytes.byteLength > MAX_MESSAGE_BYTES) {
    throw new ConnectError(`message is larger than ${MAX_MESSAGE_BYTES} bytes`, Code.ResourceExhausted);
  }
  return fromBinary(desc, bytes);
}

/** Rejects when the deadline passes or the caller gives up; the implementation sees the same as a signal. */
class Deadline {
  readonly signal: AbortSignal;
  readonly passed: Promise<never>;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #unlisten: () => void;

  constructor(timeoutMs: number | undefined, caller: AbortSignal | undefined) {
    this.signal = this.#controller.signal;
    let reject: (error: ConnectError) => void = () => undefined;
    this.passed = new Promise((_, fail) => {
      reject = fail;
    });
    // Nobody may be listening any more when the call has already been answered.
    this.passed.catch(() => undefined);
    const end = (error: ConnectError) => {
      this.#controller.abort(error);
      reject(error);
    };
    const cancel = () => end(new ConnectError("the caller gave up", Code.Canceled));
    this.#timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(
            () => end(new ConnectError("the operation timed out", Code.DeadlineExceeded)),
            timeoutMs,
          );
    caller?.addEventListener("abort", cancel, { once: true });
    this.#unlisten = () => caller?.removeEventListener("abort", cancel);
    if (caller?.aborted) cancel();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#unlisten();
  }
}
