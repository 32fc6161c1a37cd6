// The virtual world of one history: its time, its chance, its queue of events, its faults, and what it remembers for
// the report. Nothing here knows about money.
import { Random } from "@gr/testing/random";
import type { Coverage, Covered } from "./coverage.ts";
import { EventQueue } from "./event-queue.ts";

/** How unkind a history is. */
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
  /** The first thing that went wrong. */
  failure: Error | undefined;
  /** Production code was called, or a promise of it settled: what follows in microtasks comes before the next event. */
  touched = false;
  /** PostgreSQL does not answer until then. */
  postgresAwayUntil = 0;
  /** Milliseconds by which PostgreSQL's clock is behind. */
  postgresLag = 0;
  /** Milliseconds in which nothing happened anywhere. */
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

  /** A line of the trace. Ask `tracing` first: the text would be made for nothing. */
  note(text: string): void {
    const at = new Date(this.now).toISOString().slice(5, 23).replace("T", " ");
    this.trace.push(`${at}  ${text}`);
  }

  after(ms: number, run: () => void): void {
    this.#queue.push(this.now + ms, this.random.next(), run, false);
  }

  /** Periodic work, for which a history does not go on. */
  afterInBackground(ms: number, run: () => void): void {
    this.#queue.push(this.now + ms, this.random.next(), run, true);
  }

  /** Everything stands still for so long, also who waits and what is under way. */
  sleep(ms: number): void {
    this.now += ms;
    this.slept += ms;
    if (this.tracing) this.note(`everything slept for ${ms} ms`);
  }

  /**
   * Ends the history with this event. For checks inside of what production code calls, which may catch what they throw.
   * @returns the error
   */
  fail(error: unknown): Error {
    const failure = error instanceof Error ? error : new Error(String(error));
    this.failure ??= failure;
    return failure;
  }

  /** Runs the next event; what follows from it at once waits for `settle`. @returns false when there is none */
  step(): boolean {
    const event = this.#queue.pop();
    if (event === undefined) return false;
    // What was due while everything slept happens late, in its order.
    if (event.at > this.now) this.now = event.at;
    this.events += 1;
    event.run();
    return true;
  }

  /** Lets all promises go on that can. Most events touch none: then there is nothing to wait for. @throws Violation */
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

  /** How long a message is under way. */
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
