// Failures become the sentence that helps the operator.
import { Code, ConnectError } from "@connectrpc/connect";
import { errorRow, ServiceError } from "@gr/proto";
import { ErrorDetailSchema } from "@gr/proto/errors";
import { sentenceOf } from "@gr/runtime";
import type { RouterAddress } from "../router/router-address.ts";

export function sentenceOfFailure(error: unknown, address: RouterAddress | undefined): string {
  const source = address?.source ?? "the configuration";
  if (wasNotReached(error)) {
    const what = withoutEnd(error.message).replace("; try again shortly", "");
    return `${what} (its address is from ${source}); is the router running?`;
  }
  if (error instanceof ServiceError) {
    const field = error.param === undefined || error.message.includes(`"${error.param}"`) ? "" : error.param;
    return field === "" ? error.message : `${withoutEnd(error.message)} (${field}).`;
  }
  if (error instanceof ConnectError) return sentenceOfCode(error, source);
  return sentenceOf(error);
}

/** True if no service answered; false if one answered with an error. */
export function wasNotReached(error: unknown): error is ServiceError {
  return (
    error instanceof ServiceError &&
    error.reason === "service_unavailable" &&
    error.cause instanceof ConnectError &&
    error.cause.findDetails(ErrorDetailSchema).length === 0
  );
}

/** False if the service certainly refused. Otherwise the change may have been carried out. */
export function mayHaveHappened(error: unknown): boolean {
  if (error instanceof ServiceError) return errorRow(error.reason).status >= 500;
  if (!(error instanceof ConnectError)) return true;
  return error.code !== Code.Unauthenticated && error.code !== Code.Unimplemented;
}

function sentenceOfCode(error: ConnectError, source: string): string {
  switch (error.code) {
    case Code.Unauthenticated:
      return `The router refused the secret of ${source}: it is not its INTERNAL_AUTH_SECRET, or the clocks differ.`;
    case Code.Unimplemented:
      return `The address in ${source} is of a process that does not serve this: ${error.rawMessage}.`;
    case Code.Internal:
      // An internal error has a cause only if our side of the connection found the fault.
      if (error.cause !== undefined) return `What answers at the address in ${source} is no RPC port.`;
      return "The router failed unexpectedly; its log has the reason.";
    default:
      return `The router answered: ${withoutEnd(error.rawMessage)}.`;
  }
}

function withoutEnd(message: string): string {
  return message.replace(/\.$/, "");
}
