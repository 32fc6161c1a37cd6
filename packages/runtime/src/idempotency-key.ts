// IdempotencyKey owns the grammar of the header: a value of the client that names one request. http/refuse-ambiguous.ts refuses two.
import type { IncomingHttpHeaders } from "node:http";
import { ServiceError } from "@gr/proto";

const HEADER = "idempotency-key";
const LONGEST_KEY = 255;
const PRINTABLE = /^[\x20-\x7e]+$/;

/** @returns undefined without the header. @throws ServiceError invalid_value with param Idempotency-Key */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers[HEADER];
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw invalidKey("send it once");
  if (value.length > LONGEST_KEY) throw invalidKey(`it must have at most ${LONGEST_KEY} characters`);
  if (!PRINTABLE.test(value)) throw invalidKey("it must be printable ASCII and not empty");
  return value;
}

function invalidKey(rule: string): ServiceError {
  return new ServiceError("invalid_value", `The Idempotency-Key header is not valid: ${rule}.`, {
    param: "Idempotency-Key",
  });
}
