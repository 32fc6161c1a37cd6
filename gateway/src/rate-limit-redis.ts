// Rate limits that all gateways on one Redis share, exactly: one script decides and counts in one step, by the clock
// of Redis. Without an answer the local limits decide; no request is refused because of Redis, or waits for it long.
import { type Logger, type Redis, type RedisScript, redisScript } from "@gr/runtime";
import { type Decision, decisionOf, type RateLimiter, type RateRule } from "./rate-limit.ts";

/** After a failure Redis is left alone for this long, then asked by one request. */
const PAUSE_MS = 1_000;

/**
 * One key per subject and rule, which holds when the whole burst is available again (Unix microseconds) and lives
 * until then. Answers the new backlog when the request is admitted, minus the backlog when it is refused. Lua would
 * write large numbers with 14 digits, hence the format.
 */
const TAKE = `
local interval, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local full_at = redis.call('GET', KEYS[1])
local backlog = 0
if full_at then backlog = math.max(tonumber(full_at) - now, 0) end
local admitted = backlog + interval <= window
if admitted then
  backlog = backlog + interval
elseif backlog > window then
  backlog = window -- the clock was set back, or the limit was changed
else
  return -backlog
end
redis.call('SET', KEYS[1], string.format('%.0f', now + backlog), 'PX', math.ceil(backlog / 1000))
return admitted and backlog or -backlog
`;

export class RedisRateLimiter implements RateLimiter {
  readonly #take: RedisScript;
  readonly #local: RateLimiter;
  readonly #log: Logger;
  #failing = false;
  #askedAt = 0;

  /** @param local decides while Redis does not answer. */
  constructor(redis: Redis, local: RateLimiter, log: Logger) {
    this.#take = redisScript(redis, "takeRate", TAKE);
    this.#local = local;
    this.#log = log;
  }

  take(subject: string, rule: RateRule, now: number): Decision | Promise<Decision> {
    if (this.#failing) {
      // A clock that was set back must not make the pause longer.
      if (Math.abs(now - this.#askedAt) < PAUSE_MS) return this.#local.take(subject, rule, now);
      this.#askedAt = now;
    }
    return this.#ask(subject, rule, now);
  }

  async #ask(subject: string, rule: RateRule, now: number): Promise<Decision> {
    let answer: number;
    try {
      const key = `rate-limit:${rule.name}:{${subject}}`;
      answer = integerOf(await this.#take([key], [rule.intervalUs, rule.windowUs]));
    } catch (error) {
      if (!this.#failing) {
        this.#failing = true;
        this.#askedAt = now;
        const reason = (error as Error).message;
        this.#log.warn({ err: reason }, "rate limits are counted by this process alone until Redis answers");
      }
      return this.#local.take(subject, rule, now);
    }
    if (this.#failing) {
      this.#failing = false;
      this.#log.info("rate limits are shared through Redis again");
    }
    return decisionOf(rule, answer > 0, Math.abs(answer));
  }
}

function integerOf(answer: unknown): number {
  if (typeof answer === "number" && Number.isSafeInteger(answer)) return answer;
  throw new Error("Redis answered the rate limit script with something else than an integer");
}
