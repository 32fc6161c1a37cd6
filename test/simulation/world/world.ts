// World owns the virtual world of one history: its time, its chance, its queue of events, its faults, and the facts for the report. No part
// of it depends on money.
import { Random } from "@gr/testing/random";
import type { Coverage, Covered } from "./coverage.ts";
import { EventQueue } from "./event-queue.ts";

/** Probabilities of the faults of a history. */
export interface Weather {
  /** Probability that a message between processes is lost. */
  lossRate: number;
  /** Probability that one is much slower than usual. */
  slowRate: number;
  duplicateRate: number;
  /** Probability that a commit of steps is slow. */
  lateCommitRate: number;
}

export class World {
  readonly random: Random;
  readonly coverage: Coverage;
  readonly tracing: boolean;
  readonly trace: string[] = [];
  readonly weather: Weather = { lossRate: 0, slowRate: 0, duplicateRate: 0, lateCommitRate: 0 };
  now = 0;
  events = 0;
  /** First violation. */
  failure: Error | undefined;
  /** Production code was called, or a promise of it settled: its microtasks run before the next event. */
  touched = false;
  /** PostgreSQL does not answer until then. */
  postgresAwayUntil = 0;
  /** Milliseconds by which PostgreSQL's clock is behind. */
  postgresLag = 0;
  /** Milliseconds in which the whole world paused. */
  slept = 0;
  readonly #queue = new EventQueue();

  constructor(seed: number, coverage: Coverage, tracing: boolean) {
    this.random = new Random(seed);
    this.coverage = coverage;
    this.tracing = tracing;
  }

  get essential(): number {
    return this.#queue.essential;
  }

  count(name: Covered): void {
    this.coverage.counts[name] += 1;
  }

  /** Adds a line to the trace. Callers read `tracing` first, so that no text is created in vain. */
  note(text: string): void {
    const at = new Date(this.now).toISOString().slice(5, 23).replace("T", " ");
    this.trace.push(`${at}  ${text}`);
  }

  after(ms: number, run: () => void): void {
    this.#queue.push(this.now + ms, this.random.next(), run, false);
  }

  /** Schedules periodic work, which does not prolong a history. */
  afterInBackground(ms: number, run: () => void): void {
    this.#queue.push(this.now + ms, this.random.next(), run, true);
  }

  /** Pauses everything for this time, also timers and messages. */
  sleep(ms: number): void {
    this.now += ms;
    this.slept += ms;
    if (this.tracing) this.note(`everything slept for ${ms} ms`);
  }

  /**
   * Ends the history with this event. Checks inside of calls of production code use it, because that code can catch their errors.
   * @returns the error
   */
  fail(error: unknown): Error {
    const failure = error instanceof Error ? error : new Error(String(error));
    this.failure ??= failure;
    return failure;
  }

  /** Runs the next event; its microtasks run in `settle`. @returns false without an event */
  step(): boolean {
    const event = this.#queue.pop();
    if (event === undefined) return false;
    // Events that were due during the pause happen late, in their order.
    if (event.at > this.now) this.now = event.at;
    this.events += 1;
    event.run();
    return true;
  }

  /** Runs all microtasks. After most events there are none, and no wait. @throws Violation */
  settle(): Promise<void> | undefined {
    if (this.touched) return this.#resume();
    if (this.failure !== undefined) throw this.failure;
    return undefined;
  }

  async #resume(): Promise<void> {
    this.touched = false;
    await microtasksDone();
    if (this.failure !== undefined) throw this.failure;
  }

  /** Returns the duration of a message, in ms. */
  latency(): number {
    const { random, weather } = this;
    if (weather.slowRate > 0 && random.next() < weather.slowRate) return random.between(50, 4_000);
    return 1 + random.below(4);
  }

  /** Milliseconds between the INSERT of steps and its commit. */
  commitDelay(): number {
    const { random, weather } = this;
    if (weather.lateCommitRate === 0 || random.next() >= weather.lateCommitRate) return 0;
    return random.between(5, 3_000);
  }

  lost(): boolean {
    const { weather, random } = this;
    if (weather.lossRate === 0 || random.next() >= weather.lossRate) return false;
    this.count("calls lost");
    return true;
  }
}

/** A tick begins when no microtask is left. A turn of the event loop would, too, and takes many times as long. */
function microtasksDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
