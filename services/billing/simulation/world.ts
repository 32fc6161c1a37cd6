// The virtual world of one history: its time, its chance, its queue of events, its faults, and what it remembers for
// the report. Nothing here knows about money.
import type { Coverage, Covered } from "./coverage.ts";
import { EventQueue } from "./event-queue.ts";
import type { Flaw } from "./flaws.ts";
import { Random } from "./random.ts";
import { Call, type Task } from "./task.ts";
import { RPC_TIMEOUT_MS } from "./timing.ts";
import { Violation } from "./violation.ts";

/** How unkind a history is. */
export interface Weather {
  /** Probability that a message between processes is lost. */
  lossRate: number;
  /** Probability that one is much slower than usual. */
  slowRate: number;
  duplicateRate: number;
}

export class World {
  readonly random: Random;
  readonly coverage: Coverage;
  readonly flaw: Flaw | undefined;
  readonly tracing: boolean;
  readonly trace: string[] = [];
  readonly weather: Weather = { lossRate: 0, slowRate: 0, duplicateRate: 0 };
  now = 0;
  events = 0;
  /** The work that is running. */
  task: Task | undefined;
  /** PostgreSQL does not answer until then. */
  postgresAwayUntil = 0;
  /** Milliseconds by which PostgreSQL's clock is behind. */
  postgresLag = 0;
  /** Milliseconds in which nothing happened anywhere. */
  slept = 0;
  readonly #queue = new EventQueue();

  constructor(seed: number, flaw: Flaw | undefined, coverage: Coverage, tracing: boolean) {
    this.random = new Random(seed);
    this.flaw = flaw;
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

  /** Runs the next event. @returns false when there is none */
  step(): boolean {
    const event = this.#queue.pop();
    if (event === undefined) return false;
    // What was due while everything slept happens late, in its order.
    if (event.at > this.now) this.now = event.at;
    this.events += 1;
    event.run();
    return true;
  }

  current(): Task {
    if (this.task === undefined) throw new Violation("simulation", "this is done by nobody");
    return this.task;
  }

  /** How long a message is under way. */
  latency(): number {
    const { random, weather } = this;
    if (weather.slowRate > 0 && random.next() < weather.slowRate) return random.between(50, 4_000);
    return 1 + random.below(4);
  }

  lost(): boolean {
    const { weather, random } = this;
    if (weather.lossRate === 0 || random.next() >= weather.lossRate) return false;
    this.count("calls lost");
    return true;
  }

  /** What the current work waits for within its own process; to be followed by a `yield`. */
  promise<Reply>(): Call<Reply> {
    return new Call<Reply>(this.current());
  }

  /** A call of the current work; to be followed by a `yield`. It is given up after `timeoutMs`. */
  call<Reply>(timeoutMs = RPC_TIMEOUT_MS): Call<Reply> {
    const call = new Call<Reply>(this.current());
    this.after(timeoutMs, () => {
      if (call.over) return;
      this.count("calls that timed out");
      call.answer(undefined);
    });
    return call;
  }
}
