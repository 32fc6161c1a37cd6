// TextLog writes the log of text requests: lines gather and are sent together, and no caller waits for them.
// Money does not depend on a line, so lines that repeatedly fail are counted and dropped.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { TextApi, type TextLineSchema, type TextLogService } from "@gr/proto/billing";
import { type ServiceClient, startRounds, type Timer } from "@gr/runtime";

export { TextApi };
export type TextLineInit = MessageInitShape<typeof TextLineSchema>;

export interface TextLog {
  /** Never throws and never waits. */
  add(line: TextLineInit): void;
  start(): void;
  /** Writes the remaining lines. */
  stop(): Promise<void>;
}

export interface TextLogEvents {
  /** Reports lines that will never be written. */
  lost(lines: number, why: unknown): void;
}

const WRITE_EVERY_MS = 250;
/** Lines in one call. */
const MOST_AT_ONCE = 500;
/** Lines that wait; beyond it the newest is lost. Some seconds of the busiest process. */
const MOST_WAITING = 20_000;
/** Failed calls in a row after which their lines are dropped. */
const MOST_FAILURES = 20;

export function createTextLog(
  client: ServiceClient<typeof TextLogService>,
  events: TextLogEvents,
  clock: Timer,
): TextLog {
  let waiting: TextLineInit[] = [];
  let failures = 0;
  let stopRounds: (() => Promise<void>) | undefined;

  /** @throws if the write failed: the lines wait for the next round */
  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting.slice(0, MOST_AT_ONCE);
      await client.writeTexts({ lines });
      failures = 0;
      waiting = waiting.slice(lines.length);
    }
  }

  function failed(why: unknown): void {
    failures += 1;
    if (failures < MOST_FAILURES) return;
    failures = 0;
    const lines = waiting.splice(0, MOST_AT_ONCE);
    events.lost(lines.length, why);
  }

  return {
    add: (line) => {
      if (waiting.length < MOST_WAITING) waiting.push(line);
      else events.lost(1, new Error("too many lines wait"));
    },
    start: () => {
      stopRounds ??= startRounds({ clock, pauseMs: WRITE_EVERY_MS, round: write, failed });
    },
    stop: async () => {
      await stopRounds?.();
      await write().catch((error) => events.lost(waiting.length, error));
    },
  };
}
