// RedisGate prevents a Redis outage from delaying all callers. After a failure Redis is not called for a second, then
// one caller tries again while the others continue without. An outage is logged once, and so is its end.
import type { Logger } from "../process/logger.ts";

const PAUSE_MS = 1_000;

export interface RedisGateMessages {
  /** Behaviour of the process without Redis. */
  readonly lost: string;
  /** Behaviour of the process after the outage. */
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
   * @returns undefined during the pause; otherwise a promise, of undefined if Redis did not answer.
   */
  ask<Answer>(now: number, question: () => Promise<Answer>): Promise<Answer | undefined> | undefined {
    if (this.#failing) {
      // A clock that was set back must not lengthen the pause.
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
