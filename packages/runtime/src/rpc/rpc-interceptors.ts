// Server-side behaviour of every RPC, the same for calls over the network and within the process:
// errors become wire errors (also in the middle of a stream), unexpected ones are logged with their request id.

import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { ServiceError, toConnectError } from "@gr/proto";
import type { Clock } from "../process/clock.ts";
import type { Logger } from "../process/logger.ts";
import { readToken } from "./service-token.ts";

export const REQUEST_ID_HEADER = "x-request-id";

/** Maps thrown errors; a plain try/catch would see neither a stream's later messages nor their errors. */
export function answerErrors(log: Logger): Interceptor {
  return (next) => async (request) => {
    const answer = (error: unknown): ConnectError => {
      if (!(error instanceof ServiceError) && !(error instanceof ConnectError)) {
        const requestId = request.header.get(REQUEST_ID_HEADER) ?? undefined;
        log.error({ err: error, rpc: request.method.name, requestId }, "rpc failed unexpectedly");
      }
      return toConnectError(error);
    };
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: mapErrors(response.message, answer) } : response;
    } catch (error) {
      throw answer(error);
    }
  };
}

async function* mapErrors<T>(
  messages: AsyncIterable<T>,
  answer: (error: unknown) => ConnectError,
): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (error) {
    throw answer(error);
  }
}

/** What a service token for a method is signed for: it opens no other. */
export function audienceOf({ service, method }: CalledMethod): string {
  return `rpc:${service.typeName}/${method.name}`;
}

interface CalledMethod {
  readonly service: Pick<DescService, "typeName">;
  readonly method: Pick<DescMethod, "name">;
}

/**
 * Lets a call pass only with a service token for its method, before its body is read.
 * Health and reflection (grpc.*) are open: platforms and tools ask them.
 */
export function requireServiceToken(believed: readonly string[], clock: Clock) {
  return (context: HandlerContext): void => {
    if (context.service.typeName.startsWith("grpc.")) return;
    const token = context.requestHeader.get("authorization")?.replace(/^Bearer /, "") ?? "";
    if (readToken(believed, audienceOf(context), token, clock) !== undefined) return;
    throw new ConnectError("a service token for this method is required on this port", Code.Unauthenticated);
  };
}

/**
 * Tells the implementations of streams that the process stops, through the signal that they watch anyway.
 * Unary calls are left to finish.
 */
export function endStreams(stopping: AbortSignal): Interceptor {
  return (next) => (request) =>
    request.stream
      ? next({ ...request, signal: AbortSignal.any([request.signal, stopping]) })
      : next(request);
}
