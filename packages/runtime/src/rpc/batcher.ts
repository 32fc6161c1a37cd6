// Collects operations while a call is in flight and sends them as one. No timer: an idle batcher sends at once,
// a busy one sends everything that has gathered. Results keep the order of the operations. While calls fail nobody waits
// for more than two of them, however many operations come. One bad operation fails nobody else.
import { currentRequest, outsideRequests, type Trace } from "../process/current-request.ts";
import { inTraces } from "../telemetry/spans.ts";

export interface BatcherOptions {
  /** Most operations in one call. */
  readonly maxBatch: number;
  /** Most operations waiting; beyond it, callers are refused at once. */
  readonly maxQueue: number;
  /** Made for an operation that is refused because the queue is full, or too long for a time in which calls fail. */
  readonly overflow: () => Error;
  /**
   * Whether a call may have failed because of one of its operations. Then each is sent again alone, so that only the bad
   * one fails; operations must allow to be sent twice. Absent = never.
   */
  readonly mayBeOfOne?: (error: unknown) => boolean;
}

interface Waiting<Operation, Result> {
  readonly operation: Operation;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Of the request that it is done for. */
  readonly trace: Trace | undefined;
}

export interface Batcher<Operation, Result> {
  (operation: Operation): Promise<Result>;
  /** Operations that are in no call yet. */
  waiting(): number;
}

/**
 * @param send answers one result per operation, in order; a rejection rejects every operation of the batch, and refuses
 *   what does not fit into the next.
 */
export function createBatcher<Operation, Result>(
  send: (operations: Operation[]) => Promise<Result[]>,
  options: BatcherOptions,
): Batcher<Operation, Result> {
  let queue: Waiting<Operation, Result>[] = [];
  let running = false;

  async function sendOne(batch: Waiting<Operation, Result>[]): Promise<void> {
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
      // Each failure may have taken as long as a call can: whoever is not next would wait for several.
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
      // Not a part of the request that happens to come first: the others wait for it, too.
      void outsideRequests(drain);
    });
  return Object.assign(batcher, { waiting: () => queue.length });
}
