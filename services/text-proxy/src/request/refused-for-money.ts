// Adds a remedy to a refusal for lack of money, if the client's output limit decides the size of the hold.
import { ServiceError } from "@gr/proto";
import { SLICE_TOKENS } from "./hold-size.ts";
import type { TextOrder } from "./text-order.ts";
import { LIMIT_FIELDS } from "./text-request.ts";

const FOR_MONEY: ReadonlySet<string> = new Set([
  "insufficient_credits",
  "spend_limit_exceeded",
  "credits_in_flight",
  "spend_limit_in_flight",
]);

/** @returns the error, with a sentence about the output limit if a lower one helps */
export function withAdvice(error: unknown, { request, size }: TextOrder): unknown {
  if (!(error instanceof ServiceError) || !FOR_MONEY.has(error.reason) || size.tokenCost === 0n) return error;
  const field = LIMIT_FIELDS[request.api][0];
  const advice =
    request.outputLimit === undefined
      ? `Without "${field}" at least ${SLICE_TOKENS} tokens of output are reserved; with a smaller one less is.`
      : `A smaller "${field}" reserves less.`;
  const { reason, message, retryAfterMs } = error;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new ServiceError(reason, `${message} ${advice}`, { ...wait, cause: error });
}
