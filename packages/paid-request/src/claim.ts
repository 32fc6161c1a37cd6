// Claims bind a client's Idempotency-Key to one request, which is charged at most once.
// Only digests are sent to billing, neither the key, which belongs to the client, nor the request. The ledger decides how long
// a claim lasts: `packages/ledger/src/judge/claims.ts`.
import { createHash, type Hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Claim } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { type FairWork, idempotencyKeyOf, loopTurns } from "@gr/runtime";

/** Bytes that are hashed in about half a millisecond. */
const SLICE = 512 * 1024;

type Parts = Iterable<string | Uint8Array>;

/** Owner of Idempotency-Keys: an API key, or the person of a web token. */
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
 * @param content parts of the request: each value in which two requests may differ. Called only if the client sent a key.
 * @param work its owner shares the loop with others when the content is long.
 * @throws ServiceError invalid_value with param Idempotency-Key
 */
export async function claimOf(
  headers: IncomingHttpHeaders,
  endpoint: string,
  claimant: Claimant,
  content: () => Parts | AsyncIterable<string | Uint8Array>,
  work: FairWork,
): Promise<Claim | undefined> {
  const key = claimKeyOf(headers, endpoint, claimant);
  return key && { key, fingerprint: await digestInTurns(content(), work) };
}

/** Returns the key of that claim, without reading the content. @throws as claimOf */
export function claimKeyOf(
  headers: IncomingHttpHeaders,
  endpoint: string,
  { keyId, personId }: Claimant,
): Uint8Array | undefined {
  const value = idempotencyKeyOf(headers);
  return value === undefined ? undefined : digestOf([endpoint, value, personId ?? keyId]);
}

/** Hashes each part with its length, so that two different lists of parts never have equal bytes. */
function digestOf(parts: Parts): Uint8Array {
  const hash = createHash("sha256");
  for (const part of parts) {
    const bytes = bytesOf(part);
    hash.update(`${bytes.byteLength}:`).update(bytes);
  }
  return hash.digest();
}

/** Returns the same digest; long parts are hashed one slice in each turn of the loop. */
async function digestInTurns(
  parts: Parts | AsyncIterable<string | Uint8Array>,
  work: FairWork,
): Promise<Uint8Array> {
  const hash = createHash("sha256");
  for await (const part of parts) {
    const bytes = bytesOf(part);
    hash.update(`${bytes.byteLength}:`);
    if (bytes.byteLength <= SLICE) hash.update(bytes);
    else await hashInTurns(hash, bytes, work);
  }
  return hash.digest();
}

async function hashInTurns(hash: Hash, bytes: Uint8Array, work: FairWork): Promise<void> {
  for (let at = 0; at < bytes.byteLength; at += SLICE) {
    const slice = bytes.subarray(at, at + SLICE);
    await loopTurns.step({ ...work, cost: slice.byteLength }, () => hash.update(slice));
  }
}

const bytesOf = (part: string | Uint8Array) => (typeof part === "string" ? Buffer.from(part) : part);

/** @param why continues the sentence: "… was carried out and charged once, but its answer …" */
export function notReplayable(why: string): ServiceError {
  const message = `The request with this Idempotency-Key was carried out and charged once, but its answer ${why}.`;
  return new ServiceError("idempotency_not_replayable", message, { param: "Idempotency-Key" });
}
