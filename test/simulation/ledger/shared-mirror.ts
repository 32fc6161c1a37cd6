// The mirrors of refusals: the local one of production, watched; and one that stands where the Lua scripts of the shared one
// stand, in a Redis that may lose everything, go back in time or not answer. What a mirror refuses is held against the past.

import {
  type AskedPlace,
  deathOf,
  type Epoch,
  LocalSpendMirror,
  type Posted,
  refusalOf,
  type SpendMirror,
  type SpendNumbers,
} from "@gr/billing/simulated";
import { checkMirrored } from "../books/invariants.ts";
import type { Life } from "../world/process.ts";
import { MIRROR_FRESH_MS, REDIS_TIMEOUT_MS } from "../world/timing.ts";
import type { World } from "../world/world.ts";
import { numberOf } from "./ids.ts";
import type { Ledger } from "./ledger.ts";

/** More accounts and spenders than a history has. */
const MOST_REMEMBERED = 20;

/** When each account was last forgotten, if nothing has brought it back since. */
type Forgotten = Map<string, number>;

function check(world: World, ledger: Ledger, forgotten: Forgotten, place: AskedPlace): void {
  world.count("refused from the mirror");
  const { accountId, spenderId, credits, holdId } = place;
  if (holdId === undefined) throw new Error("here everybody who asks places");
  if (world.tracing) world.note(`mirror: place ${numberOf(holdId)} is refused`);
  const [account, spender] = [numberOf(accountId), numberOf(spenderId)];
  const since = Math.max(world.now - MIRROR_FRESH_MS, forgotten.get(accountId) ?? 0);
  try {
    checkMirrored(ledger, { hold: numberOf(holdId), account, spender, credits }, since, world.now);
  } catch (error) {
    world.fail(error);
  }
}

/** The mirror of one process without a Redis. */
export function localMirror(life: Life, ledger: Ledger): SpendMirror {
  const { world } = life;
  const stopwatch = { now: () => world.now };
  const mirror = new LocalSpendMirror(life, stopwatch, MOST_REMEMBERED);
  const forgotten: Forgotten = new Map();
  return {
    admit: async (places) => {
      const answers = await mirror.admit(places);
      for (const [index, place] of places.entries()) {
        if (answers[index] !== undefined) check(world, ledger, forgotten, place);
      }
      return answers;
    },
    begin: (accountId) => mirror.begin(accountId),
    keep: (...news) => mirror.keep(...news),
    forget: async (accountId) => {
      forgotten.set(accountId, world.now);
      await mirror.forget(accountId);
    },
  };
}

interface Entry {
  readonly numbers: SpendNumbers;
  readonly diesAt: number;
}

/** What is known of one account; forgetting it is one step. */
interface MirroredAccount {
  readonly epoch: string;
  readonly entries: Map<string, Entry>;
}

export class SharedRedis {
  awayUntil = 0;
  /** Probability that it is slow. */
  slowRate = 0;
  readonly forgotten: Forgotten = new Map();
  readonly #world: World;
  accounts = new Map<string, MirroredAccount>();
  #saved = new Map<string, MirroredAccount>();
  #ids = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Was never used, also not before a loss. */
  newId(): string {
    this.#ids += 1;
    return String(this.#ids);
  }

  empty(): void {
    this.#world.count("Redis emptied");
    if (this.#world.tracing) this.#world.note("Redis is emptied");
    this.accounts = new Map();
    this.forgotten.clear();
  }

  /** Writes to disk: as far as a later rollback goes back. */
  save(): void {
    this.#saved = new Map();
    for (const [account, { epoch, entries }] of this.accounts) {
      this.#saved.set(account, { epoch, entries: new Map(entries) });
    }
  }

  rollBack(): void {
    this.#world.count("Redis rolled back");
    if (this.#world.tracing) this.#world.note("Redis goes back to its last save");
    this.accounts = this.#saved;
    this.save();
    this.forgotten.clear();
  }

  /** Runs a script. A reply that does not come in time is undefined, and the script may run all the same. */
  run<Reply>(life: Life, script: () => Reply): Promise<Reply | undefined> {
    const world = this.#world;
    const waiting = life.wait<Reply | undefined>();
    if (!life.acts()) return waiting.promise;
    if (this.awayUntil > world.now) {
      world.count("Redis did not answer");
      world.after(REDIS_TIMEOUT_MS, () => waiting.settle(undefined));
      return waiting.promise;
    }
    const slow = world.random.chance(this.slowRate);
    const latency = slow ? world.random.between(20, 900) : world.latency();
    if (latency + 1 >= REDIS_TIMEOUT_MS) world.after(REDIS_TIMEOUT_MS, () => waiting.settle(undefined));
    world.after(latency, () => {
      const reply = script();
      world.after(1, () => waiting.settle(reply));
    });
    return waiting.promise;
  }
}

/** What one process sees of the shared mirror. */
export function sharedMirror(life: Life, redis: SharedRedis, ledger: Ledger): SpendMirror {
  const { world } = life;
  const admit = (place: AskedPlace): Posted | undefined => {
    const entry = redis.accounts.get(place.accountId)?.entries.get(place.spenderId);
    if (entry === undefined || entry.diesAt <= world.now) return undefined;
    if (entry.diesAt > world.now + MIRROR_FRESH_MS) return undefined;
    const refused = refusalOf(entry.numbers, place, life.now());
    if (refused !== undefined) check(world, ledger, redis.forgotten, place);
    return refused;
  };
  return {
    admit: async (places) => (await redis.run(life, () => places.map(admit))) ?? places.map(() => undefined),
    begin: (accountId) =>
      redis.run<Epoch>(life, () => {
        const known = redis.accounts.get(accountId) ?? { epoch: redis.newId(), entries: new Map() };
        redis.accounts.set(accountId, known);
        return { id: known.epoch, begunAt: world.now };
      }),
    keep: async (accountId, epoch, numbers) => {
      await redis.run(life, () => {
        const known = redis.accounts.get(accountId);
        if (known?.epoch !== epoch.id) {
          world.count("refusals that came too late for the mirror");
          return;
        }
        for (const [spender, each] of numbers) {
          known.entries.set(spender, { numbers: each, diesAt: deathOf(epoch, each) });
        }
      });
    },
    forget: async (accountId) => {
      await redis.run(life, () => {
        redis.accounts.delete(accountId);
        redis.forgotten.set(accountId, world.now);
      });
    },
  };
}
