// Key digests replace secrets. Keys are looked up by digest, so no secret is ever compared. Because of the pepper,
// write access to the database is not enough to plant a key. Digests of no key are remembered for a short time.
import { createHmac } from "node:crypto";
import type { Clock } from "@gr/runtime";
import { LRUCache } from "lru-cache";

const MOST_UNKNOWN = 10_000;
const UNKNOWN_MS = 30_000;

/** HMAC-SHA256 of the whole secret under the pepper: 32 bytes. */
export type DigestOf = (secret: string) => Buffer;

export function digestWith(pepper: string): DigestOf {
  return (secret) => createHmac("sha256", pepper).update(secret).digest();
}

/** Returns the part of a secret that is stored for display: `gr_live_…wxyz`. */
export function hintOf(secret: string): string {
  const prefix = /^[a-z]+_[a-z]+_/.exec(secret)?.[0] ?? "";
  return `${prefix}…${secret.slice(-4)}`;
}

/** Well-formed secrets of no key: repeating one costs no query. */
export interface UnknownDigests {
  has(digest: Buffer): boolean;
  add(digest: Buffer): void;
  /** Called when a key is minted: its digest may be among them. */
  clear(): void;
}

export function createUnknownDigests(clock: Clock): UnknownDigests {
  const cache = new LRUCache<string, true>({
    max: MOST_UNKNOWN,
    ttl: UNKNOWN_MS,
    ttlResolution: 0,
    perf: clock,
  });
  return {
    has: (digest) => cache.has(digest.toString("base64")),
    add: (digest) => cache.set(digest.toString("base64"), true),
    clear: () => cache.clear(),
  };
}
