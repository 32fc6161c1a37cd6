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

/** Returns the audience of a service token for a method: the token is valid for no other. */
export function audienceOf({ service, method }: CalledMethod): string {
  return `rpc:${service.typeName}/${method.name}`;
}

interface CalledMethod {
  readonly service: Pick<DescService, "typeName">;
  readonly method: Pick<DescMethod, "name">;
}

/**
 * Refuses a call without a service token for its method, before its body is read.
 * Health and reflection (grpc.*) are open to platforms and tools.
 */
export function requireServiceToken(trustedSecrets: readonly string[], clock: Clock) {
  return (context: HandlerContext): void => {
    if (context.service.typeName.startsWith("grpc.")) return;
    const token = context.requestHeader.get("authorization")?.replace(/^Bearer /, "") ?? "";
    if (readToken(trustedSecrets, audienceOf(context), token, clock) !== undefined) return;
    throw new ConnectError("a service token for this method is required on this port", Code.Unauthenticated);
  };
}

/**
 * Ends streams at a stop of the process, through the signal that their implementations watch anyway.
 * Unary calls may finish.
 */
export function endStreams(stopping: AbortSignal): Interceptor {
  return (next) => (request) =>
    request.stream
      ? next({ ...request, signal: AbortSignal.any([request.signal, stopping]) })
      : next(request);
}
