// The log of text requests. Whoever serves them writes it here: lines gather and leave together, and nobody waits for them. No
// money depends on a line, so what cannot be written after a while is counted and forgotten.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { TextApi, type TextLineSchema, type TextLogService, type TextUsage } from "@gr/proto/billing";
import { type ServiceClient, startRounds, type Timer } from "@gr/runtime";

export { TextApi };
export type TextLineInit = MessageInitShape<typeof TextLineSchema>;

export interface TextLog {
  /** Never throws and never waits. */
  add(line: TextLineInit): void;
  start(): void;
  /** Writes what there is. */
  stop(): Promise<void>;
}

export interface TextLogEvents {
  /** So many lines will never be written. */
  lost(lines: number, why: unknown): void;
}

const WRITE_EVERY_MS = 250;
/** In one call. */
const MOST_AT_ONCE = 500;
/** Lines that wait; beyond it the newest is lost. Some seconds of the busiest process. */
const MOST_WAITING = 20_000;
/** So many calls in a row may fail before their lines are given up. */
const MOST_FAILURES = 20;

export function createTextLog(
  client: ServiceClient<typeof TextLogService>,
  events: TextLogEvents,
  clock: Timer,
): TextLog {
  let waiting: TextLineInit[] = [];
  let failures = 0;
  let stopRounds: (() => Promise<void>) | undefined;

  /** @throws when they could not be written: they wait for the next round */
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

/** What was metered, as accounts are shown it. */
export function usageRecord(usage: TextUsage) {
  const calls = Object.entries(usage.toolCalls).map(([call, count]) => [call, Number(count)]);
  return {
    input_tokens: Number(usage.inputTokens),
    output_tokens: Number(usage.outputTokens),
    cached_input_tokens: Number(usage.cachedInputTokens),
    cache_write_tokens: Number(usage.cacheWriteTokens),
    image_input_tokens: Number(usage.imageInputTokens),
    audio_input_tokens: Number(usage.audioInputTokens),
    reasoning_tokens: Number(usage.reasoningTokens),
    image_output_tokens: Number(usage.imageOutputTokens),
    audio_output_tokens: Number(usage.audioOutputTokens),
    tool_calls: Object.fromEntries(calls),
  };
}
