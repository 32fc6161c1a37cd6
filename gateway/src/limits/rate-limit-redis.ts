// RedisRateLimiter shares exact rate limits among all gateways on one Redis: one script decides and counts in one step,
// by the clock of Redis. The same answer reports a recent revocation of the key. Without an answer the local limits
// decide. No request is refused because of Redis, or waits for it long.
import { type Logger, type Redis, RedisGate, type RedisScript, redisScript } from "@gr/runtime";
import { type CountedRequest, type Decision, decisionOf, type RateLimiter } from "./rate-limit.ts";

/**
 * The first keys hold the time at which the whole burst of each subject is available again (Unix microseconds), and
 * live until then. One more key, if the request has a valid API key, exists for 15 s after that key was deleted,
 * disabled, or got other allow-lists (services/keys). ARGV has interval and window of each count. Returns 1 or 0 for that key, 1 or 0 for an
 * admitted request, then the backlog of each count. Lua would write large numbers with 14 digits, hence the format.
 */
const TAKE = `
local counts = #ARGV / 2
local revoked = KEYS[counts + 1] and redis.call('EXISTS', KEYS[counts + 1]) or 0
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local admitted = true
local backlogs = {}
for i = 1, counts do
  local full_at = redis.call('GET', KEYS[i])
  backlogs[i] = full_at and math.max(tonumber(full_at) - now, 0) or 0
  if backlogs[i] + tonumber(ARGV[2 * i - 1]) > tonumber(ARGV[2 * i]) then admitted = false end
end
local answer = {revoked, admitted and 1 or 0}
for i = 1, counts do
  -- Above the window when the clock was set back, or the limit was changed.
  local backlog = math.min(backlogs[i], tonumber(ARGV[2 * i]))
  if admitted then backlog = backlog + tonumber(ARGV[2 * i - 1]) end
  if backlog ~= backlogs[i] then
    redis.call('SET', KEYS[i], string.format('%.0f', now + backlog), 'PX', math.ceil(backlog / 1000))
  end
  answer[i + 2] = backlog
end
return answer
`;

const MESSAGES = {
  lost: "rate limits are counted by this process alone until Redis answers",
  found: "rate limits are shared through Redis again",
};

export class RedisRateLimiter implements RateLimiter {
  readonly #spend: RedisScript;
  readonly #local: RateLimiter;
  readonly #gate: RedisGate;

  /** @param local decides while Redis does not answer. */
  constructor(redis: Redis, local: RateLimiter, log: Logger) {
    this.#spend = redisScript(redis, "takeRate", TAKE);
    this.#local = local;
    this.#gate = new RedisGate(log, MESSAGES);
  }

  spend(request: CountedRequest, now: number): Decision | Promise<Decision> {
    const asked = this.#gate.ask(now, () => this.#ask(request));
    if (asked === undefined) return this.#local.spend(request, now);
    return asked.then((decision) => decision ?? this.#local.spend(request, now));
  }

  async #ask({ counts, owner, keyId }: CountedRequest): Promise<Decision> {
    const keys: string[] = [];
    const values: number[] = [];
    for (const { rule, subject } of counts) {
      keys.push(`rate-limit:${rule.name}:{${owner}}${subject === owner ? "" : subject}`);
      values.push(rule.intervalUs, rule.windowUs);
    }
    if (keyId !== undefined) keys.push(`revoked:{${owner}}${keyId}`);
    const [revoked, admitted, ...backlogsUs] = integersOf(await this.#spend(keys, values), counts.length + 2);
    return { ...decisionOf(counts, admitted === 1, backlogsUs), isRevoked: revoked === 1 };
  }
}

function integersOf(answer: unknown, count: number): number[] {
  if (Array.isArray(answer) && answer.length === count && answer.every(Number.isSafeInteger)) {
    return answer as number[];
  }
  throw new Error(`Redis answered the rate limit script with something other than ${count} integers`);
}
