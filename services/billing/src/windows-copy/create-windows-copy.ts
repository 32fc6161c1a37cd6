// Windows copy is the front of this room: used-up budgets that the process knows, and their copies in Redis if there is one.
import { type Clock, type Logger, openRedis, type redisConfig } from "@gr/runtime";
import type { z } from "zod";
import type { BillingEvents } from "../events.ts";
import { CopySigner } from "./copy-text.ts";
import { RedisCopies } from "./redis-copies.ts";
import { UsedUpBudgets } from "./used-up-budgets.ts";

export interface WindowsCopyOptions {
  readonly config: z.infer<typeof redisConfig> & { readonly INTERNAL_AUTH_SECRET: string };
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: Pick<BillingEvents, "windowsCopied">;
}

export interface WindowsCopy {
  readonly budgets: UsedUpBudgets;
  /** Reads the used-up budgets that other processes and earlier lives of this one have copied to Redis. */
  warmUp(): Promise<void>;
  close(): void;
}

export async function createWindowsCopy(options: WindowsCopyOptions): Promise<WindowsCopy> {
  const { config, clock, log, events } = options;
  const stopwatch = { now: () => performance.now() };
  const redis = await openRedis(config, { name: "generation-router billing", log });
  if (redis === undefined) {
    const budgets = new UsedUpBudgets({ clock, stopwatch });
    return { budgets, warmUp: async () => undefined, close: () => undefined };
  }
  const signer = new CopySigner(config.INTERNAL_AUTH_SECRET);
  const copies = new RedisCopies({ redis, signer, stopwatch, log, counted: events.windowsCopied });
  const sendCopy: RedisCopies["send"] = (copy, isUsedUp) => copies.send(copy, isUsedUp);
  const budgets = new UsedUpBudgets({ clock, stopwatch, sendCopy });
  return {
    budgets,
    warmUp: async () => {
      for (const copy of (await copies.readUsedUp()).toReversed()) budgets.add(copy);
    },
    close: () => copies.close(),
  };
}
