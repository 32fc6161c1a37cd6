// Redis copies own the copies of spend windows in Redis: after each commit the latest ones are written in the background, and a process
// that starts reads those of used-up budgets. No answer waits for Redis, and no copy admits a request.
import {
  type Clock,
  type Logger,
  pause,
  type Redis,
  RedisGate,
  type RedisScript,
  redisScript,
} from "@gr/runtime";
import { type CopySigner, keyOf, nameOf, USED_UP_KEY } from "./copy-text.ts";
import type { WindowCopy } from "./window-copy.ts";

/** Copies that wait for Redis, at most. Later ones are dropped. */
const MOST_WAITING = 10_000;
/** Copies of one script. */
const MOST_AT_ONCE = 500;
/** Pause between two scripts, so a budget is copied at most ten times a second. */
const PAUSE_MS = 100;
/** Used-up budgets that a process reads at its start, and that Redis lists. */
const MOST_USED_UP = 5_000;
const READ_AT_ONCE = 500;
/** Lifetime of a copy. A used-up budget has no commits that would renew it. */
const LIFETIME_MS = 86_400_000;

/**
 * ARGV has the lifetime and the largest number of used-up budgets, then for each copy the number of its step, its text, its name
 * and 1 for a used-up budget. A copy of an earlier step never replaces one of a later step. Values of other types and values without an end
 * are no copies. Returns the number of stored copies.
 */
const STORE = `
local stored = 0
local now = redis.call('TIME')[1]
for i = 2, #KEYS do
  local at = 4 * (i - 2) + 2
  local known = redis.pcall('GET', KEYS[i])
  local seq = type(known) == 'string' and tonumber(string.match(known, '^%d+')) or 0
  if seq <= tonumber(ARGV[at + 1]) or redis.call('PTTL', KEYS[i]) < 0 then
    redis.call('SET', KEYS[i], ARGV[at + 2], 'PX', ARGV[1])
    stored = stored + 1
    if ARGV[at + 4] == '1' then
      local listed = redis.pcall('ZADD', KEYS[1], now, ARGV[at + 3])
      if type(listed) == 'table' then
        redis.call('DEL', KEYS[1])
        redis.call('ZADD', KEYS[1], now, ARGV[at + 3])
      end
    else
      redis.pcall('ZREM', KEYS[1], ARGV[at + 3])
    end
  end
end
redis.pcall('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return stored
`;

const MESSAGES = {
  lost: "spend windows are not copied until Redis answers; nothing else depends on the copies",
  found: "spend windows are copied to Redis again",
};

export interface RedisCopiesOptions {
  readonly redis: Redis;
  readonly signer: CopySigner;
  /** Milliseconds that never run back. */
  readonly stopwatch: Clock;
  readonly log: Logger;
  /** Receives the numbers of copies that were written to Redis, or dropped. */
  readonly counted: (outcome: "written" | "dropped", copies: number) => void;
  /** Resolves after so many milliseconds; in real time if absent. */
  readonly wait?: (ms: number) => Promise<void>;
}

interface Waiting {
  readonly copy: WindowCopy;
  readonly isUsedUp: boolean;
}

export class RedisCopies {
  readonly #options: RedisCopiesOptions;
  readonly #gate: RedisGate;
  readonly #store: RedisScript;
  /** By name; a later copy replaces an earlier one that still waits. */
  readonly #waiting = new Map<string, Waiting>();
  #isSending = false;

  constructor(options: RedisCopiesOptions) {
    this.#options = options;
    this.#gate = new RedisGate(options.log, MESSAGES);
    this.#store = redisScript(options.redis, "storeWindows", STORE);
  }

  /** Sends a copy of a commit in the background. */
  send(copy: WindowCopy, isUsedUp: boolean): void {
    const name = nameOf(copy);
    if (!this.#waiting.has(name) && this.#waiting.size >= MOST_WAITING) {
      this.#options.counted("dropped", 1);
      return;
    }
    this.#waiting.set(name, { copy, isUsedUp });
    if (this.#isSending) return;
    this.#isSending = true;
    void this.#sendAll();
  }

  /** @returns copies of used-up budgets, those that were used up last; none if Redis does not answer */
  async readUsedUp(): Promise<WindowCopy[]> {
    const { redis, signer } = this.#options;
    const names = (await this.#ask(() => redis.zrevrange(USED_UP_KEY, 0, MOST_USED_UP - 1))) ?? [];
    const copies: WindowCopy[] = [];
    for (let from = 0; from < names.length; from += READ_AT_ONCE) {
      const slice = names.slice(from, from + READ_AT_ONCE);
      const texts = await this.#ask(() => redis.mget(slice.map(keyOf)));
      if (texts === undefined) return copies;
      for (const [index, name] of slice.entries()) {
        const copy = signer.read(name, texts[index] ?? "");
        if (copy !== undefined) copies.push(copy);
      }
    }
    return copies;
  }

  /** Drops the copies that wait. */
  close(): void {
    this.#waiting.clear();
    this.#options.redis.disconnect();
  }

  async #sendAll(): Promise<void> {
    const { counted, wait = pause } = this.#options;
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.entries()].slice(0, MOST_AT_ONCE);
      for (const [name] of batch) this.#waiting.delete(name);
      const stored = await this.#ask(() => this.#storeAll(batch));
      counted(stored === undefined ? "dropped" : "written", batch.length);
      await wait(PAUSE_MS);
    }
    this.#isSending = false;
  }

  async #storeAll(batch: readonly (readonly [string, Waiting])[]): Promise<unknown> {
    const { signer } = this.#options;
    const keys = [USED_UP_KEY, ...batch.map(([name]) => keyOf(name))];
    const values = batch.flatMap(([name, { copy, isUsedUp }]) => [
      ...[copy.account.seq, signer.textOf(copy), name, isUsedUp ? 1 : 0],
    ]);
    return await this.#store(keys, [LIFETIME_MS, MOST_USED_UP, ...values]);
  }

  async #ask<Answer>(question: () => Promise<Answer>): Promise<Answer | undefined> {
    return await this.#gate.ask(this.#options.stopwatch.now(), question);
  }
}
