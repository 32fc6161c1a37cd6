// Client headers are the headers of a client's request that a module may see, in every topology.
// The list excludes credentials, cookies, forged identities and hop-by-hop headers. A mount point may add more for its
// own module.
import type { IncomingHttpHeaders } from "node:http";

const FOR_MODULES = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-encoding",
  "content-length",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "prefer",
  "range",
  "transfer-encoding",
  "user-agent",
  "x-continue-elsewhere",
  "x-max-cost",
]);

/** @param keeps further headers that the mount point adds */
export function headersForModules(
  headers: IncomingHttpHeaders,
  keeps: readonly string[] = [],
): IncomingHttpHeaders {
  const kept: IncomingHttpHeaders = {};
  for (const name in headers) {
    if (FOR_MODULES.has(name) || keeps.includes(name)) kept[name] = headers[name];
  }
  return kept;
}
