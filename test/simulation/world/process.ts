// A process of the simulated system, and its lives. Production code runs in a life: its clock is that process's, and all
// that it waits for outside comes through the life. A process can die or stand still whenever it is reached from outside or
// does something outside. What a dead process waits for never comes, and what it had in memory is gone.
import type { Timer } from "@gr/runtime";
import type { World } from "./world.ts";

const LONGEST_PAUSE_MS = 120_000;

export class Process {
  readonly name: string;
  readonly world: World;
  /** Probability of dying at one moment of contact with the world. */
  crashRate = 0;
  /** Probability of standing still at one. */
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

  /** @param begin makes all that the process has in memory */
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
  /** Whether it has ever stood still. */
  stoodStill = false;

  /** Takes back the listeners that it left on signals. */
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
   * Before this process does something outside.
   * @returns false when it is dead, or dies now: then nothing may be done
   */
  acts(): boolean {
    if (!this.alive) return false;
    const { process, world } = this;
    if (process.crashRate === 0 || world.random.next() >= process.crashRate / 2) return true;
    process.crash();
    return false;
  }

  /** Nothing of it happens any more. Node would keep a combined signal for ever, as long as somebody listens. */
  end(): void {
    this.alive = false;
    for (const forget of this.#forget) forget();
    this.#forget.clear();
  }

  /** Unless it is taken back, or the life ends before. @returns takes it back */
  onAbort(signal: AbortSignal, listener: () => void): () => void {
    const forget = () => {
      signal.removeEventListener("abort", listener);
      this.#forget.delete(forget);
    };
    signal.addEventListener("abort", listener, { once: true });
    this.#forget.add(forget);
    return forget;
  }

  /** Whether it has been at work all the time, and still is. */
  get steady(): boolean {
    return this.alive && !this.stoodStill;
  }

  /** What comes from outside: unless the process is dead, dies of it, or stands still first. */
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

  /** Begins work that nobody waits for. What it throws is a defect of the simulation. */
  run(work: () => Promise<void>): void {
    this.world.touched = true;
    work().catch((error) => this.world.fail(error));
  }

  /** To be settled by an event. */
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

  /** Settled by the process itself, which is at work then. */
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
 * A clock whose sleeper is not woken while there is nothing to do. A round that finds nothing has no effect, and most rounds
 * find nothing: leaving them out saves most of the time, and a history can come to rest.
 * @param work by the length of a pause between rounds: whether the next round would find anything
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
