// refuseAmbiguous refuses requests that Node accepts but that two readers could understand in two ways, on all our
// ports. Paths are compared as they arrive, so later routing and authentication may rely on their text.
import type { IncomingMessage } from "node:http";
import { ServiceError } from "@gr/proto";

/**
 * Path parts that readers resolve differently: a segment ".", two dots beside any spelling of a slash, and a backslash.
 */
const DOT_SEGMENT_OR_BACKSLASH =
  /\/(?:\.|%2e)(?:\/|$)|(?:\/|%2f|%5c)(?:\.|%2e){2}|(?:\.|%2e){2}(?:\/|%2f|%5c)|\\/i;

/**
 * Headers that must not be repeated. Of a repeated Content-Type Node shows the first. Two Idempotency-Keys are joined
 * to a third, under which a repetition with only one of them would be charged again. Other headers are checked by their
 * readers.
 */
const AT_MOST_ONCE = ["Content-Type", "Idempotency-Key"].map((name) => ({ name, lower: name.toLowerCase() }));

/** @throws ServiceError invalid_http */
export function refuseAmbiguous(request: IncomingMessage): void {
  const target = request.url ?? "";
  if (!target.startsWith("/") || target.includes("#")) {
    throw new ServiceError("invalid_http", "The request target must be a path.");
  }
  const query = target.indexOf("?");
  if (DOT_SEGMENT_OR_BACKSLASH.test(query === -1 ? target : target.slice(0, query))) {
    throw new ServiceError(
      "invalid_http",
      "The path must not contain backslashes, a segment of one dot, or two dots beside a slash.",
    );
  }
  const hosts = countHeader(request.rawHeaders, "host");
  if (hosts > 1 || (hosts === 0 && request.httpVersion !== "1.0")) {
    throw new ServiceError("invalid_http", "The request must have exactly one Host header.");
  }
  for (const { name, lower } of AT_MOST_ONCE) {
    if (countHeader(request.rawHeaders, lower) > 1) {
      throw new ServiceError("invalid_http", `The request must not have two ${name} headers.`, {
        param: name,
      });
    }
  }
}

/** Returns the number of times a header was sent; `request.headers` hides repetitions. @param name in lower case */
export function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] ?? "";
    if (header.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}
