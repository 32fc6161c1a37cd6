// Process owns a process of the simulated system and its lives. Production code runs in a life, with the clock of the process, and receives
// every answer from outside through the life. A process can die or pause at each contact with the world. A dead process gets no answer and
// has no memory.
import type { Timer } from "@gr/runtime";
import type { World } from "./world.ts";

const LONGEST_PAUSE_MS = 120_000;

export class Process {
  readonly name: string;
  readonly world: World;
  /** Probability of dying at one moment of contact with the world. */
  crashRate = 0;
  /** Probability of a pause at one. */
  pauseRate = 0;
  longestPauseMs = LONGEST_PAUSE_MS;
  /** Undefined while it is down. */
  life: Life | undefined;
  pausedUntil = 0;
  /** Milliseconds by which its clock is ahead. */
  skew = 0;
  readonly #begin: (life: Life) => void;
  readonly #crashed: () => void;
  readonly #paused: () => void;

  /** @param begin creates the memory of the process */
  constructor(
    world: World,
    name: string,
    begin: (life: Life) => void,
    crashed: () => void,
    paused: () => void = () => undefined,
  ) {
    this.world = world;
    this.name = name;
    this.#begin = begin;
    this.#crashed = crashed;
    this.#paused = paused;
  }

  start(): void {
    this.life = new Life(this);
    this.world.touched = true;
    this.#begin(this.life);
  }

  crash(): void {
    const { world, life } = this;
    if (life === undefined) return;
    life.end();
    this.life = undefined;
    this.pausedUntil = 0;
    if (world.tracing) world.note(`${this.name} dies`);
    this.#crashed();
    world.after(world.random.between(50, 5_000), () => {
      if (world.tracing) world.note(`${this.name} starts`);
      this.start();
    });
  }

  pause(ms: number): void {
    const { world } = this;
    this.pausedUntil = world.now + ms;
    if (this.life !== undefined) this.life.stoodStill = true;
    if (world.tracing) world.note(`${this.name} stands still for ${ms} ms`);
    this.#paused();
  }
}

export class Life implements Timer {
  readonly process: Process;
  readonly world: World;
  alive = true;
  /** True after the first pause. */
  stoodStill = false;

  /** Removes the remaining listeners on signals. */
  readonly #forget = new Set<() => void>();

  constructor(process: Process) {
    this.process = process;
    this.world = process.world;
  }

  now(): number {
    return this.world.now + this.process.skew;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    const waiting = new Waiting<void>(this);
    if (!this.alive) return waiting.promise;
    this.world.after(ms, () => waiting.settle());
    if (signal !== undefined) waiting.endWith(signal);
    return waiting.promise;
  }

  /**
   * Called before each contact of this process with the world.
   * @returns false if the process is dead or dies now: the contact is then omitted
   */
  acts(): boolean {
    if (!this.alive) return false;
    const { process, world } = this;
    if (process.crashRate === 0 || world.random.next() >= process.crashRate / 2) return true;
    process.crash();
    return false;
  }

  /** Ends all work. Node would store a combined signal until its last listener is removed. */
  end(): void {
    this.alive = false;
    for (const forget of this.#forget) forget();
    this.#forget.clear();
  }

  /** Runs the work unless the life ends first. @returns a function that cancels it */
  onAbort(signal: AbortSignal, listener: () => void): () => void {
    const forget = () => {
      signal.removeEventListener("abort", listener);
      this.#forget.delete(forget);
    };
    signal.addEventListener("abort", listener, { once: true });
    this.#forget.add(forget);
    return forget;
  }

  /** True if the process has worked without a pause until now. */
  get steady(): boolean {
    return this.alive && !this.stoodStill;
  }

  /** Receives an event from outside, unless the process is dead, dies of it, or pauses first. */
  reach(run: () => void): void {
    if (!this.alive) return;
    const { process, world } = this;
    const { now, random } = world;
    if (process.pausedUntil <= now) {
      if (process.crashRate > 0 && random.next() < process.crashRate) {
        process.crash();
        return;
      }
      if (process.pauseRate > 0 && random.next() < process.pauseRate) {
        process.pause(random.between(500, process.longestPauseMs));
      }
    }
    if (process.pausedUntil > now) {
      world.after(process.pausedUntil - now, () => this.reach(run));
      return;
    }
    world.touched = true;
    run();
  }

  /** Begins work without a caller. An error of it is a defect of the simulation. */
  run(work: () => Promise<void>): void {
    this.world.touched = true;
    work().catch((error) => this.world.fail(error));
  }

  /** Returns a promise that an event settles. */
  wait<T>(): Waiting<T> {
    return new Waiting<T>(this);
  }
}

/** A promise of production code, which an event of the world settles once. */
export class Waiting<T> {
  readonly promise: Promise<T>;
  readonly life: Life;
  /** Settled, or on the way to it. */
  over = false;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;
  #forgetSignal: (() => void) | undefined;

  constructor(life: Life) {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.life = life;
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  settle(value: T): void {
    if (this.over) return;
    this.over = true;
    this.#forgetSignal?.();
    this.life.reach(() => this.#resolve(value));
  }

  fail(error: unknown): void {
    if (this.over) return;
    this.over = true;
    this.life.reach(() => this.#reject(error));
  }

  /** Settles from inside the process, which works at that moment. */
  endWith(this: Waiting<void>, signal: AbortSignal): void {
    const end = () => {
      if (this.over) return;
      this.over = true;
      this.#resolve();
    };
    this.#forgetSignal = this.life.onAbort(signal, end);
  }
}

/**
 * A clock that wakes a sleeper only for work. A round without work has no effect, and most rounds have none. Without them a history is
 * faster and has an end.
 * @param work by the length of a pause between rounds: returns true if the next round has work
 */
export function idleRounds(life: Life, work: ReadonlyMap<number, () => boolean>): Timer {
  const { world } = life;
  return {
    now: () => life.now(),
    sleep: (ms, signal) => {
      const wanted = work.get(ms);
      if (wanted === undefined) return life.sleep(ms, signal);
      const waiting = life.wait<void>();
      const wake = () => {
        if (!life.alive) return;
        if (wanted()) waiting.settle();
        else world.afterInBackground(ms, wake);
      };
      world.afterInBackground(ms, wake);
      return waiting.promise;
    },
  };
}
