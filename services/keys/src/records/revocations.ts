// Tells the gateways through Redis which keys were deleted or disabled a moment ago, so that they verify them anew.
// Nobody waits for it and nothing depends on it: billing refuses such a key whatever a gateway still believes.
import { type Clock, type Logger, type Redis, RedisGate } from "@gr/runtime";
import type { ApiKey } from "./key.ts";

/** Longer than a gateway uses a verification again. */
const TOLD_MS = 15_000;

export interface Revocations {
  /** Called when a change of a key has been stored. */
  tell(key: Pick<ApiKey, "id" | "accountId" | "active" | "deletedAt">): void;
}

/** @param redis undefined = nobody is told. */
export function createRevocations(redis: Redis | undefined, clock: Clock, log: Logger): Revocations {
  if (redis === undefined) return { tell: () => undefined };
  const gate = new RedisGate(log, {
    lost: "gateways are not told of deleted keys until Redis answers; billing refuses them all the same",
    found: "gateways are told of deleted keys again",
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
