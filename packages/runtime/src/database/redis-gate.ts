// Keeps an outage of Redis from slowing everybody down: after a failure Redis is left alone for a second, then one
// caller asks again while the others go on without. An outage is told once, and so is its end.
import type { Logger } from "../process/logger.ts";

const PAUSE_MS = 1_000;

export interface RedisGateMessages {
  /** What the process does without Redis. */
  readonly lost: string;
  /** What it does with it again. */
  readonly found: string;
}

export class RedisGate {
  readonly #log: Logger;
  readonly #messages: RedisGateMessages;
  #failing = false;
  #askedAt = 0;

  constructor(log: Logger, messages: RedisGateMessages) {
    this.#log = log;
    this.#messages = messages;
  }

  /**
   * @param now milliseconds of any clock, always the same one.
   * @returns undefined when Redis is left alone; otherwise a promise, of undefined when it did not answer.
   */
  ask<Answer>(now: number, question: () => Promise<Answer>): Promise<Answer | undefined> | undefined {
    if (this.#failing) {
      // A clock that was set back must not make the pause longer.
      if (Math.abs(now - this.#askedAt) < PAUSE_MS) return undefined;
      this.#askedAt = now;
    }
    return this.#answered(now, question);
  }

  async #answered<Answer>(now: number, question: () => Promise<Answer>): Promise<Answer | undefined> {
    let answer: Answer;
    try {
      answer = await question();
    } catch (error) {
      if (!this.#failing) {
        this.#failing = true;
        this.#askedAt = now;
        this.#log.warn({ err: (error as Error).message }, this.#messages.lost);
      }
      return undefined;
    }
    if (this.#failing) {
      this.#failing = false;
      this.#log.info(this.#messages.found);
    }
    return answer;
  }
}
