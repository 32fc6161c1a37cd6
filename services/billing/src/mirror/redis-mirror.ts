// The mirror that all billing processes on one Redis share. An account is one key, so that forgetting it is one step.
// Redis may be slow, gone or emptied at any moment: then PostgreSQL is asked, and what was forgotten stays forgotten.
import { randomUUID } from "node:crypto";
import { type Clock, type Logger, type Redis, RedisGate, type RedisScript, redisScript } from "@gr/runtime";
import type { Period } from "../accounts/spender.ts";
import type { Posted } from "../writer/post-store.ts";
import {
  type AskedPlace,
  deathOf,
  type Epoch,
  NUMBERS_LIFETIME_MS,
  refusalOf,
  type SpendMirror,
  type SpendNumbers,
} from "./spend-mirror.ts";

/** Sets `now` to milliseconds of Redis's clock. */
const NOW = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/** ARGV: spenders. Answers their texts, false for those that have none or whose time (the first number) is over. */
const ADMIT = `${NOW}
local found = redis.call('HMGET', KEYS[1], unpack(ARGV))
for index = 1, #ARGV do
  local dies_at = found[index] and tonumber(string.match(found[index], '^%d+') or '')
  -- One that dies too late was written before the clock was set back.
  if not dies_at or dies_at <= now or dies_at > now + ${NUMBERS_LIFETIME_MS} then found[index] = false end
end
return found
`;

/** ARGV: an id that was never used. Answers the id of the account's epoch and the time. */
const BEGIN = `${NOW}
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${NUMBERS_LIFETIME_MS})
return {redis.call('HGET', KEYS[1], 'epoch'), now}
`;

/** ARGV: the epoch, then spenders and their texts in turns. */
const KEEP = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return 1
`;

/**
 * Numbers as Redis keeps them: one line of text, the time of their death first, so that amounts of 64 bits pass through Lua
 * untouched. What is not such a line is nothing.
 */
const LINE = /^\d+ (-?\d+) (\d+) (-|\d+) (\d+) (lifetime|day|week|month) (\d+) (\d+) (\d+)$/;

const MESSAGES = {
  lost: "every hopeless place is asked of PostgreSQL until Redis answers",
  found: "hopeless places are refused through Redis again",
};

export class RedisSpendMirror implements SpendMirror {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #stopwatch: Clock;
  readonly #gate: RedisGate;
  readonly #admit: RedisScript;
  readonly #begin: RedisScript;
  readonly #keep: RedisScript;

  /** @param clock that windows end by. @param stopwatch milliseconds that never run back. */
  constructor(redis: Redis, clock: Clock, stopwatch: Clock, log: Logger) {
    this.#redis = redis;
    this.#clock = clock;
    this.#stopwatch = stopwatch;
    this.#gate = new RedisGate(log, MESSAGES);
    this.#admit = redisScript(redis, "admitSpend", ADMIT);
    this.#begin = redisScript(redis, "beginSpendEpoch", BEGIN);
    this.#keep = redisScript(redis, "keepSpend", KEEP);
  }

  async admit(places: readonly AskedPlace[]): Promise<(Posted | undefined)[]> {
    const spenders = new Map<string, Set<string>>();
    for (const { accountId, spenderId } of places) {
      const known = spenders.get(accountId);
      if (known === undefined) spenders.set(accountId, new Set([spenderId]));
      else known.add(spenderId);
    }
    // Sent together, so that all accounts of a batch are one round trip.
    const numbers = await this.#ask(() =>
      Promise.all([...spenders].map(([accountId, ids]) => this.#read(accountId, [...ids]))),
    );
    const byAccount = new Map(numbers);
    return places.map((place) => {
      const known = byAccount.get(place.accountId)?.get(place.spenderId);
      return known === undefined ? undefined : refusalOf(known, place, this.#clock.now());
    });
  }

  async begin(accountId: string): Promise<Epoch | undefined> {
    return this.#ask(async () => epochOf(await this.#begin([keyOf(accountId)], [randomUUID()])));
  }

  async keep(accountId: string, epoch: Epoch, numbers: ReadonlyMap<string, SpendNumbers>): Promise<void> {
    const texts = [...numbers].flatMap(([id, each]) => [id, textOf(deathOf(epoch, each), each)]);
    if (texts.length > 0) await this.#ask(() => this.#keep([keyOf(accountId)], [epoch.id, ...texts]));
  }

  async forget(accountId: string): Promise<void> {
    await this.#ask(() => this.#redis.unlink(keyOf(accountId)));
  }

  async #read(
    accountId: string,
    spenders: readonly string[],
  ): Promise<[accountId: string, numbers: Map<string, SpendNumbers>]> {
    const texts = await this.#admit([keyOf(accountId)], spenders);
    if (!Array.isArray(texts)) throw new Error("Redis answered the mirror with something else than a list");
    const numbers = new Map<string, SpendNumbers>();
    for (const [index, spenderId] of spenders.entries()) {
      const each = numbersOf(texts[index]);
      if (each !== undefined) numbers.set(spenderId, each);
    }
    return [accountId, numbers];
  }

  async #ask<Answer>(question: () => Promise<Answer>): Promise<Answer | undefined> {
    return this.#gate.ask(this.#stopwatch.now(), question);
  }
}

function keyOf(accountId: string): string {
  return `spend:{${accountId}}`;
}

function epochOf(answer: unknown): Epoch {
  const [id, begunAt] = Array.isArray(answer) ? (answer as unknown[]) : [];
  if (typeof id === "string" && typeof begunAt === "number") return { id, begunAt };
  throw new Error("Redis answered the mirror with something else than an epoch");
}

/** @param diesAt milliseconds of Redis's clock. */
function textOf(diesAt: number, numbers: SpendNumbers): string {
  const { balance, available, cap, used, period, resetsAt, confirmedAt, endsAt } = numbers;
  return [diesAt, balance, available, cap ?? "-", used, period, resetsAt, confirmedAt, endsAt].join(" ");
}

function numbersOf(text: unknown): SpendNumbers | undefined {
  const fields = typeof text === "string" ? LINE.exec(text) : null;
  if (fields === null) return undefined;
  const [
    ,
    balance = "",
    available = "",
    cap = "",
    used = "",
    period,
    resetsAt = "",
    confirmedAt = "",
    endsAt = "",
  ] = fields;
  return {
    balance: BigInt(balance),
    available: BigInt(available),
    cap: cap === "-" ? null : BigInt(cap),
    used: BigInt(used),
    period: period as Period,
    resetsAt: BigInt(resetsAt),
    confirmedAt: BigInt(confirmedAt),
    endsAt: BigInt(endsAt),
  };
}
