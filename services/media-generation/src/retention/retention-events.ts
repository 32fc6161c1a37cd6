// Events of the deletion of expired media: a counter and a log line.
import type { Logger } from "@gr/runtime";
import { Counter, type Registry } from "prom-client";

export interface RetentionEvents {
  expired(generations: number): void;
  /** The next round retries them. */
  notRemoved(id: string, error: unknown): void;
}

export function createRetentionEvents(log: Logger, metrics: Registry): RetentionEvents {
  const expired = new Counter({
    name: "media_expired_total",
    help: "Generations with files older than the retention period, which were deleted",
    registers: [metrics],
  });
  return {
    expired: (generations) => {
      expired.inc(generations);
      log.info({ generations }, "files that had been kept long enough were removed");
    },
    notRemoved: (requestId, error) =>
      log.error({ requestId, err: error }, "files of expired or removed generations could not be deleted"),
  };
}
