// Claims bind a client's Idempotency-Key to one request, which is charged at most once.
// Only digests are sent to billing, neither the key, which belongs to the client, nor the request.
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Claim } from "@gr/clients";
import { ServiceError } from "@gr/proto";

const HEADER = "idempotency-key";
const LONGEST_KEY = 255;
const PRINTABLE = /^[\x20-\x7e]+$/;

/** Owner of Idempotency-Keys: an API key, or the person that a web token was issued to. */
export interface Claimant {
  /** For a web token: the account, so all tokens without a person are one claimant. */
  readonly keyId: string;
  /** Only of a web token. */
  readonly personId?: string | undefined;
}

/**
 * Returns the claim of a request; undefined if the client sent no Idempotency-Key.
 * @param endpoint path that the key belongs to; the same key at another endpoint is another key.
 * @param claimant owner that the key belongs to; the same key of another owner is another key.
 * @param content the client's request, in parts; any difference between two requests belongs in it. Called only if
 * there is a key.
 * @throws ServiceError invalid_value with param Idempotency-Key
 */
export function claimOf(
  headers: IncomingHttpHeaders,
  endpoint: string,
  claimant: Claimant,
  content: () => Iterable<string | Uint8Array>,
): Claim | undefined {
  const key = claimKeyOf(headers, endpoint, claimant);
  return key && { key, fingerprint: digestOf(content()) };
}

/** Returns the key of that claim, without reading the content. @throws as claimOf */
export function claimKeyOf(
  headers: IncomingHttpHeaders,
  endpoint: string,
  { keyId, personId }: Claimant,
): Uint8Array | undefined {
  const value = headers[HEADER];
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw invalidKey("send it once");
  if (value.length > LONGEST_KEY) throw invalidKey(`it must have at most ${LONGEST_KEY} characters`);
  if (!PRINTABLE.test(value)) throw invalidKey("it must be printable ASCII and not empty");
  return digestOf([endpoint, value, personId ?? keyId]);
}

/** Digests each part with its length, so that no two lists of parts have the same digest. */
function digestOf(parts: Iterable<string | Uint8Array>): Uint8Array {
  const hash = createHash("sha256");
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    hash.update(`${bytes.byteLength}:`).update(bytes);
  }
  return hash.digest();
}

function invalidKey(rule: string): ServiceError {
  return new ServiceError("invalid_value", `The Idempotency-Key header is not valid: ${rule}.`, {
    param: "Idempotency-Key",
  });
}

/** @param why continues the sentence: "… was carried out and charged once, but its answer …" */
export function notReplayable(why: string): ServiceError {
  const message = `The request with this Idempotency-Key was carried out and charged once, but its answer ${why}.`;
  return new ServiceError("idempotency_not_replayable", message, { param: "Idempotency-Key" });
}
