// A process of the simulated system and the work it does: generators in which every `yield` is an await. The process
// can die or stand still at each of them. What a dead process had in memory is gone.
import type { World } from "./world.ts";

const LONGEST_PAUSE_MS = 120_000;

/** Work that waits at each `yield` until what it waits for has woken it. */
export type Steps<Result = void> = Generator<undefined, Result, undefined>;

export class Process {
  readonly name: string;
  readonly world: World;
  /** Probability of dying at one await. */
  crashRate = 0;
  /** Probability of standing still at one. */
  pauseRate = 0;
  up = true;
  /** Counts its lives: work of an earlier one is never resumed. */
  life = 0;
  pausedUntil = 0;
  /** Milliseconds by which its clock is ahead. */
  skew = 0;
  lastSeen = 0;
  readonly #begin: () => void;
  readonly #crashed: () => void;
  readonly #paused: () => void;

  constructor(
    world: World,
    name: string,
    begin: () => void,
    crashed: () => void,
    paused: () => void = () => undefined,
  ) {
    this.world = world;
    this.name = name;
    this.#begin = begin;
    this.#crashed = crashed;
    this.#paused = paused;
  }

  get clock(): number {
    return this.world.now + this.skew;
  }

  get responsive(): boolean {
    return this.up && this.pausedUntil <= this.world.now;
  }

  start(): void {
    this.up = true;
    this.#begin();
  }

  crash(): void {
    if (!this.up) return;
    const { world } = this;
    this.up = false;
    this.life += 1;
    this.lastSeen = Math.min(world.now, this.pausedUntil === 0 ? world.now : this.lastSeen);
    this.pausedUntil = 0;
    this.#crashed();
    if (world.tracing) world.note(`${this.name} dies`);
    world.after(world.random.between(50, 5_000), () => {
      if (world.tracing) world.note(`${this.name} starts`);
      this.start();
    });
  }

  pause(ms: number): void {
    const { world } = this;
    this.lastSeen = world.now;
    this.pausedUntil = world.now + ms;
    if (world.tracing) world.note(`${this.name} stands still for ${ms} ms`);
    this.#paused();
  }

  /** Begins work; it ends with the process. */
  run(steps: Steps): void {
    new Task(this, steps).resume();
  }
}

export class Task {
  readonly process: Process;
  readonly #steps: Steps;
  readonly #life: number;
  readonly #resume = () => this.resume();

  constructor(process: Process, steps: Steps) {
    this.process = process;
    this.#steps = steps;
    this.#life = process.life;
  }

  resume(): void {
    const { process } = this;
    if (process.life !== this.#life) return;
    const { world } = process;
    if (process.pausedUntil > world.now) {
      world.after(process.pausedUntil - world.now, this.#resume);
      return;
    }
    if (process.crashRate > 0 && world.random.next() < process.crashRate) {
      process.crash();
      return;
    }
    if (process.pauseRate > 0 && world.random.next() < process.pauseRate) {
      process.pause(world.random.between(500, LONGEST_PAUSE_MS));
      this.sleep(process.pausedUntil - world.now);
      return;
    }
    const outer = world.task;
    world.task = this;
    this.#steps.next();
    world.task = outer;
  }

  /** To be followed by a `yield`. */
  sleep(ms: number): void {
    this.process.world.after(ms, this.#resume);
  }
}

/** Who waits for a reply. */
export interface Caller<Reply> {
  /** Answered, or given up. */
  readonly over: boolean;
  answer(reply: Reply | undefined): void;
}

/** A question to another process. Its reply is undefined when there was none in time: then nobody knows the outcome. */
export class Call<Reply> implements Caller<Reply> {
  reply: Reply | undefined;
  over = false;
  readonly #task: Task;

  constructor(task: Task) {
    this.#task = task;
  }

  answer(reply: Reply | undefined): void {
    if (this.over) return;
    this.over = true;
    this.reply = reply;
    this.#task.resume();
  }
}
