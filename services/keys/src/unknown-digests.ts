// Remembers for a short while which well-formed secrets are unknown, so that repeating one costs no query.
// Bounded in size and time; forgotten as soon as a key is minted.
import type { Clock } from "@gr/runtime";
import { LRUCache } from "lru-cache";

const MAX_ENTRIES = 10_000;
const LIFETIME_MS = 30_000;

export interface UnknownDigests {
  has(digest: Buffer): boolean;
  add(digest: Buffer): void;
  clear(): void;
}

export function createUnknownDigests(clock: Clock): UnknownDigests {
  const cache = new LRUCache<string, true>({
    max: MAX_ENTRIES,
    ttl: LIFETIME_MS,
    ttlResolution: 0,
    perf: clock,
  });
  return {
    has: (digest) => cache.has(digest.toString("base64")),
    add: (digest) => cache.set(digest.toString("base64"), true),
    clear: () => cache.clear(),
  };
}
