// TextLog writes the log of text requests: a line for each, and no caller waits for it.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { TextApi, type TextLineSchema, type TextLogService } from "@gr/proto/billing";
import type { ServiceClient, Timer } from "@gr/runtime";
import { createWriteQueue, type WriteQueue } from "./write-queue.ts";

export { TextApi };
export type TextLineInit = MessageInitShape<typeof TextLineSchema>;
export type TextLog = WriteQueue<TextLineInit>;

export interface TextLogEvents {
  /** Reports lines that will never be written. */
  lost(lines: number, why: unknown): void;
}

/** Lines that wait; beyond it the newest is lost. Some seconds of the busiest process. */
const MOST_WAITING = 20_000;

export function createTextLog(
  client: ServiceClient<typeof TextLogService>,
  { lost }: TextLogEvents,
  clock: Timer,
): TextLog {
  const write = (lines: readonly TextLineInit[]) => client.writeTexts({ lines: [...lines] });
  return createWriteQueue({
    ...{ write, lost, clock, weightOf: () => 1 },
    ...{ mostAtOnce: MOST_WAITING, mostWaiting: MOST_WAITING },
  });
}
