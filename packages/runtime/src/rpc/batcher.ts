// The batcher collects operations while a call is in flight and sends them as one. There is no timer: an idle batcher
// sends at once, a busy one sends everything that has gathered, in order. While calls fail, no operation waits for more
// than two of them. One bad operation does not fail the others.
import { currentRequest, outsideRequests, type Trace } from "../process/current-request.ts";
import { inTraces } from "../telemetry/spans.ts";

export interface BatcherOptions {
  /** Most operations in one call. */
  readonly maxBatch: number;
  /** Most operations waiting; beyond it, callers are refused at once. */
  readonly maxQueue: number;
  /** Creates the error of a refused operation: the queue is full, or too long while calls fail. */
  readonly overflow: () => Error;
  /**
   * Returns true if one of its operations may have failed a call. Then each is sent again alone, so that only the bad
   * one fails; operations must be idempotent. Absent = never.
   */
  readonly mayBeOfOne?: (error: unknown) => boolean;
  /**
   * Waits after a call with several operations, so that more of them share the next call; `nextTurn` in a process. Absent
   * = no wait.
   */
  readonly turn?: () => Promise<void>;
}

interface WaitingItem<Operation, Result> {
  readonly operation: Operation;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Trace of its request. */
  readonly trace: Trace | undefined;
}

export interface Batcher<Operation, Result> {
  (operation: Operation): Promise<Result>;
  /** Operations that are in no call yet. */
  waiting(): number;
}

/**
 * @param send returns one result per operation, in order; a rejection rejects every operation of the batch, and refuses
 * the operations beyond the next batch.
 */
export function createBatcher<Operation, Result>(
  send: (operations: Operation[]) => Promise<Result[]>,
  options: BatcherOptions,
): Batcher<Operation, Result> {
  let queue: WaitingItem<Operation, Result>[] = [];
  let running = false;

  async function sendOne(batch: WaitingItem<Operation, Result>[]): Promise<void> {
    try {
      const traces = batch.map(({ trace }) => trace);
      const results = await inTraces(traces, () => send(batch.map(({ operation }) => operation)));
      if (results.length !== batch.length)
        throw new Error("a batch was answered with another number of results");
      results.forEach((result, index) => {
        batch[index]?.resolve(result);
      });
    } catch (error) {
      const ofOne = options.mayBeOfOne?.(error) === true;
      if (ofOne && batch.length > 1) {
        await Promise.all(batch.map((waiting) => sendOne([waiting])));
        return;
      }
      for (const waiting of batch) waiting.reject(error);
      if (ofOne) return;
      // Each failure may last as long as a call can: operations beyond the next batch would wait for several.
      for (const waiting of queue.splice(options.maxBatch)) waiting.reject(options.overflow());
    }
  }

  async function drain(): Promise<void> {
    // Operations that were issued in this turn of the event loop join the first batch.
    await Promise.resolve();
    while (queue.length > 0) {
      const batch = queue.slice(0, options.maxBatch);
      queue = queue.slice(options.maxBatch);
      await sendOne(batch);
      if (batch.length > 1) await options.turn?.();
    }
    running = false;
  }

  const batcher = (operation: Operation) =>
    new Promise<Result>((resolve, reject) => {
      if (queue.length >= options.maxQueue) {
        reject(options.overflow());
        return;
      }
      queue.push({ operation, resolve, reject, trace: currentRequest()?.trace });
      if (running) return;
      running = true;
      // Outside of the first request's trace: the other requests wait for it, too.
      void outsideRequests(drain);
    });
  return Object.assign(batcher, { waiting: () => queue.length });
}
