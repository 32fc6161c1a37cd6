// Which mirror a process has: the shared one where there is a Redis, else its own.
import { type Clock, type Logger, openRedis } from "@gr/runtime";
import type { BillingConfig } from "./config.ts";
import type { SpendMirror } from "./spend-mirror.ts";
import { LocalSpendMirror } from "./spend-mirror-local.ts";
import { RedisSpendMirror } from "./spend-mirror-redis.ts";

export interface OpenSpendMirror {
  readonly mirror: SpendMirror;
  /** Milliseconds that never run back; what the mirror counts ages by. */
  readonly stopwatch: Clock;
  close(): void;
}

/** @param clock that windows end by. */
export async function openSpendMirror(
  config: BillingConfig,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<OpenSpendMirror> {
  const stopwatch: Clock = { now: () => performance.now() };
  const redis = await openRedis(config, { name: "generation-router billing", log });
  if (redis === undefined) {
    return { mirror: new LocalSpendMirror(clock, stopwatch), stopwatch, close: () => undefined };
  }
  const mirror = new RedisSpendMirror(redis, clock, stopwatch, log);
  return { mirror, stopwatch, close: () => redis.disconnect() };
}
