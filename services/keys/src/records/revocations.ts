// Revocations notify the gateways through Redis of keys that were just deleted, disabled or rotated, or got other
// allow-lists or another choice about saved texts, so that they verify them anew. No request waits for it: billing refuses
// a deleted or disabled key despite a gateway's cached verification. Without the notice the other changes are in force as
// soon as that verification is too old.
import { type Clock, type Logger, type Redis, RedisGate } from "@gr/runtime";
import { type ApiKey, hasSameHeldFields, isUnlimited } from "./key.ts";

/** Lifetime of a notice; longer than a gateway reuses a verification. */
const TOLD_MS = 15_000;

export interface Revocations {
  /** Announces a stored change of a key. */
  tell(before: ApiKey, key: ApiKey): void;
  /** Announces a key whose earlier secrets have ended or will end. */
  rotated(key: ApiKey): void;
}

/** @param redis undefined = no notices are sent. */
export function createRevocations(redis: Redis | undefined, clock: Clock, log: Logger): Revocations {
  if (redis === undefined) return { tell: () => undefined, rotated: () => undefined };
  const gate = new RedisGate(log, {
    lost: "gateways do not learn of deleted keys until Redis answers; billing refuses the keys meanwhile",
    found: "gateways learn of deleted keys again",
  });
  // A Redis cluster places a name by its part in braces: beside the rate limits of the account.
  const nameOf = (key: ApiKey) => `revoked:{${key.accountId}}${key.id}`;
  const notify = (key: ApiKey) =>
    void gate.ask(clock.now(), async () => redis.set(nameOf(key), "1", "PX", TOLD_MS));
  return {
    rotated: notify,
    tell: (before, key) => {
      const isUsable = key.active && key.deletedAt === null;
      if (!isUsable || !hasSameHeldFields(before, key)) {
        notify(key);
      } else if (!before.active && isUnlimited(key)) {
        // The notice of a key with lists stays: it may be about the lists.
        void gate.ask(clock.now(), async () => redis.unlink(nameOf(key)));
      }
    },
  };
}
