// Revocations notify the gateways through Redis of keys that were just deleted or disabled, so that they verify them
// anew. No request waits for it or depends on it: billing refuses such a key despite a gateway's cached verification.
import { type Clock, type Logger, type Redis, RedisGate } from "@gr/runtime";
import type { ApiKey } from "./key.ts";

/** Lifetime of a notice; longer than a gateway reuses a verification. */
const TOLD_MS = 15_000;

export interface Revocations {
  /** Announces a stored change of a key. */
  tell(key: Pick<ApiKey, "id" | "accountId" | "active" | "deletedAt">): void;
}

/** @param redis undefined = no notices are sent. */
export function createRevocations(redis: Redis | undefined, clock: Clock, log: Logger): Revocations {
  if (redis === undefined) return { tell: () => undefined };
  const gate = new RedisGate(log, {
    lost: "gateways do not learn of deleted keys until Redis answers; billing refuses the keys meanwhile",
    found: "gateways learn of deleted keys again",
  });
  return {
    tell: ({ id, accountId, active, deletedAt }) => {
      // A Redis cluster places a name by its part in braces: beside the rate limits of the account.
      const name = `revoked:{${accountId}}${id}`;
      const usable = active && deletedAt === null;
      void gate.ask(clock.now(), async () =>
        usable ? redis.unlink(name) : redis.set(name, "1", "PX", TOLD_MS),
      );
    },
  };
}
