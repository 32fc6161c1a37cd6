// Time of rate limits in Redis, moved by tests.
import type { Redis } from "@gr/runtime";

/** Moves every entry into the past, which is equivalent to the passing of time. */
export async function advanceRedis(redis: Redis, seconds: number): Promise<void> {
  for (const key of await redis.keys("*")) {
    const fullAt = Number(await redis.get(key)) - seconds * 1_000_000;
    await redis.set(key, String(fullAt), "KEEPTTL");
  }
}
