// Rate limits that all gateways on one Redis share, exactly: one script decides and counts in one step, by the clock
// of Redis, and says in the same answer whether the key was revoked lately. Without an answer the local limits
// decide; no request is refused because of Redis, or waits for it long.
import { type Logger, type Redis, RedisGate, type RedisScript, redisScript } from "@gr/runtime";
import { type Decision, decisionOf, type RateLimiter, type RateRule } from "./rate-limit.ts";

/**
 * KEYS[1] holds when the whole burst of a subject is available again (Unix microseconds) and lives until then.
 * KEYS[2] exists for a while after a key was deleted or disabled (services/keys). Answers the new backlog when the
 * request is admitted, minus the backlog when it is refused; then 1 or 0 for KEYS[2]. Lua would write large numbers
 * with 14 digits, hence the format.
 */
const TAKE = `
local interval, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local revoked = redis.call('EXISTS', KEYS[2])
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
  return {-backlog, revoked}
end
redis.call('SET', KEYS[1], string.format('%.0f', now + backlog), 'PX', math.ceil(backlog / 1000))
return {admitted and backlog or -backlog, revoked}
`;

const MESSAGES = {
  lost: "rate limits are counted by this process alone until Redis answers",
  found: "rate limits are shared through Redis again",
};

export class RedisRateLimiter implements RateLimiter {
  readonly #take: RedisScript;
  readonly #local: RateLimiter;
  readonly #gate: RedisGate;

  /** @param local decides while Redis does not answer. */
  constructor(redis: Redis, local: RateLimiter, log: Logger) {
    this.#take = redisScript(redis, "takeRate", TAKE);
    this.#local = local;
    this.#gate = new RedisGate(log, MESSAGES);
  }

  take(subject: string, rule: RateRule, now: number): Decision | Promise<Decision> {
    const asked = this.#gate.ask(now, () => this.#ask(subject, rule));
    if (asked === undefined) return this.#local.take(subject, rule, now);
    return asked.then((decision) => decision ?? this.#local.take(subject, rule, now));
  }

  async #ask(subject: string, rule: RateRule): Promise<Decision> {
    const keys = [`rate-limit:${rule.name}:{${subject}}`, `revoked:{${subject}}`];
    const [backlog, revoked] = integersOf(await this.#take(keys, [rule.intervalUs, rule.windowUs]));
    return { ...decisionOf(rule, backlog > 0, Math.abs(backlog)), revoked: revoked === 1 };
  }
}

function integersOf(answer: unknown): [number, number] {
  if (Array.isArray(answer)) {
    const [first, second] = answer as unknown[];
    if (Number.isSafeInteger(first) && Number.isSafeInteger(second)) return [Number(first), Number(second)];
  }
  throw new Error("Redis answered the rate limit script with something else than integers");
}
