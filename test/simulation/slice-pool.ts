// A few threads that share the work of a run: whichever is free takes the next slice.
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Slice, SliceResult } from "./run-slice.ts";

/** As many as jest has workers, at most. */
const MOST_THREADS = 2;
/** A history is garbage when it is over: room for several spares most of the collecting. */
const YOUNG_MEGABYTES = 64;

interface Waiting {
  readonly slice: Slice;
  readonly resolve: (result: SliceResult) => void;
  readonly reject: (error: Error) => void;
}

export class SlicePool {
  readonly #threads: Worker[];
  readonly #waiting: Waiting[] = [];
  readonly #free: Worker[];

  constructor() {
    const threads = Math.min(MOST_THREADS, availableParallelism());
    const program = new URL("./run-slice.ts", import.meta.url);
    this.#threads = Array.from({ length: threads }, () => {
      return new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES } });
    });
    this.#free = [...this.#threads];
  }

  run(slice: Slice): Promise<SliceResult> {
    const result = new Promise<SliceResult>((resolve, reject) => {
      this.#waiting.push({ slice, resolve, reject });
    });
    // Whoever asks for it hears of a failure; until then it is nobody's.
    result.catch(() => undefined);
    this.#next();
    return result;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.terminate()));
  }

  #next(): void {
    const thread = this.#free.pop();
    if (thread === undefined) return;
    const waiting = this.#waiting.shift();
    if (waiting === undefined) {
      this.#free.push(thread);
      return;
    }
    const ended = () => waiting.reject(new Error("the thread ended and said nothing"));
    thread.once("error", waiting.reject);
    thread.once("exit", ended);
    thread.once("message", (result: SliceResult) => {
      thread.off("error", waiting.reject);
      thread.off("exit", ended);
      waiting.resolve(result);
      this.#free.push(thread);
      this.#next();
    });
    thread.postMessage(waiting.slice);
  }
}
