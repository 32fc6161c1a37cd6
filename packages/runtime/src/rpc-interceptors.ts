// Server-side behaviour of every RPC, the same for calls over the network and within the process:
// errors become wire errors (also in the middle of a stream), unexpected ones are logged with their request id.

import { type Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { ServiceError, toConnectError } from "@gr/proto";
import type { Logger } from "./logger.ts";

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

/** Refuses a call before it reaches an implementation; used for the service token check. */
export function refuseUnless(
  allowed: (header: Headers) => boolean,
  code: Code,
  message: string,
): Interceptor {
  return (next) => async (request) => {
    const open = request.service.typeName.startsWith("grpc.");
    if (!open && !allowed(request.header)) throw new ConnectError(message, code);
    return next(request);
  };
}
