// The spend mirror of billing, as services/billing/src/spend-mirror*.ts: what PostgreSQL last said of a payer that it
// refused, kept for at most a second. Shared in a Redis that may lose everything, go back in time or not answer, or in
// one process. It must never be the reason that money is spent, or refused wrongly.
import type { Ledger } from "./ledger.ts";
import type { Outcome, Place } from "./operation.ts";
import type { Call } from "./task.ts";
import { MIRROR_FRESH_MS, REDIS_TIMEOUT_MS } from "./timing.ts";
import { windowEndOf } from "./window.ts";
import type { World } from "./world.ts";

/** What one reading of PostgreSQL said about a spender and its account. */
export interface SpendNumbers {
  readonly balance: bigint;
  readonly cap: bigint | undefined;
  readonly used: bigint;
  /** By PostgreSQL's clock; the second is when they mean nothing any more, 0 = never. */
  readonly confirmedAt: number;
  readonly endsAt: number;
}

interface Entry {
  readonly numbers: SpendNumbers;
  readonly diesAt: number;
}

/** What is known of one account; forgetting it is one step. */
interface MirroredAccount {
  readonly epoch: number;
  readonly entries: Map<number, Entry>;
}

export interface Epoch {
  readonly id: number;
  readonly begunAt: number;
}

export class SpendMirror {
  awayUntil = 0;
  /** Probability that Redis is slow. */
  slowRate = 0;
  /** When each account was last forgotten, if nothing has brought it back since. */
  readonly forgotten = new Map<number, number>();
  readonly #world: World;
  /** In a Redis, for all processes. */
  readonly #shared: boolean;
  #accounts = new Map<number, MirroredAccount>();
  #saved = new Map<number, MirroredAccount>();
  /** By spender; only with the flaws that count. */
  readonly #taken = new Map<number, bigint>();
  #epochsBegun = 0;

  constructor(world: World, shared: boolean) {
    this.#world = world;
    this.#shared = shared;
  }

  empty(): void {
    this.#world.count("Redis emptied");
    if (this.#world.tracing) this.#world.note("Redis is emptied");
    this.#accounts = new Map();
    this.#taken.clear();
    this.forgotten.clear();
  }

  /** Writes to disk: as far as a later rollback goes back. */
  save(): void {
    this.#saved = new Map();
    for (const [account, { epoch, entries }] of this.#accounts) {
      this.#saved.set(account, { epoch, entries: new Map(entries) });
    }
  }

  rollBack(): void {
    this.#world.count("Redis rolled back");
    if (this.#world.tracing) this.#world.note("Redis goes back to its last save");
    this.#accounts = this.#saved;
    this.save();
    this.forgotten.clear();
  }

  /** Runs a script; to be followed by a `yield`. A reply that does not come in time is undefined, the script may run. */
  run<Reply>(script: () => Reply): Call<Reply> {
    const world = this.#world;
    if (!this.#shared) {
      const done = world.promise<Reply>();
      world.after(0, () => done.answer(script()));
      return done;
    }
    const call = world.call<Reply>(REDIS_TIMEOUT_MS);
    if (this.awayUntil > world.now) {
      world.count("Redis did not answer");
      return call;
    }
    const latency = world.random.chance(this.slowRate) ? world.random.between(20, 900) : world.latency();
    world.after(latency, () => {
      const reply = script();
      world.after(1, () => call.answer(reply));
    });
    return call;
  }

  /** What PostgreSQL would answer; undefined = ask it. @param clock of the process that asks */
  admit({ account, spender, credits }: Place, madeAt: number, clock: number): Outcome | undefined {
    const entry = this.#accounts.get(account)?.entries.get(spender);
    if (entry === undefined) return undefined;
    const { numbers, diesAt } = entry;
    const endless = this.#world.flaw === "refusal mirrored for too long";
    if (!endless && diesAt <= this.#world.now) return undefined;
    if (!endless && numbers.endsAt !== 0 && numbers.endsAt <= clock) return undefined;
    // A hold that is older than the numbers may exist already.
    if (madeAt <= numbers.confirmedAt) return undefined;
    if (numbers.cap !== undefined && numbers.used + credits > numbers.cap) return { code: "cap" };
    return credits > numbers.balance ? { code: "balance" } : undefined;
  }

  begin(account: number): Epoch {
    let known = this.#accounts.get(account);
    if (known === undefined) {
      // An id that was never used, also not before a loss.
      this.#epochsBegun += 1;
      known = { epoch: this.#epochsBegun, entries: new Map() };
      this.#accounts.set(account, known);
    }
    return { id: known.epoch, begunAt: this.#world.now };
  }

  settle({ account, spender }: Place, epoch: Epoch, numbers: SpendNumbers): true {
    const blind = this.#world.flaw === "refusal mirrored without epoch";
    if (blind) this.begin(account);
    const known = this.#accounts.get(account);
    if (!blind && known?.epoch !== epoch.id) {
      this.#world.count("refusals that came too late for the mirror");
      return true;
    }
    const life = numbers.endsAt === 0 ? MIRROR_FRESH_MS : numbers.endsAt - numbers.confirmedAt;
    known?.entries.set(spender, { numbers, diesAt: epoch.begunAt + Math.min(MIRROR_FRESH_MS, life) });
    return true;
  }

  forget(account: number): true {
    this.#accounts.delete(account);
    this.forgotten.set(account, this.#world.now);
    return true;
  }

  taken(spender: number): bigint {
    return this.#taken.get(spender) ?? 0n;
  }

  add(spender: number, credits: bigint): true {
    this.#taken.set(spender, this.taken(spender) + credits);
    return true;
  }
}

/** One reading of PostgreSQL; undefined for a spender that may not spend. */
export function readNumbers({ audit, time }: Ledger, { account, spender }: Place): SpendNumbers | undefined {
  const { fields, window } = audit.spender(spender);
  const { deposited, charged } = audit.account(account);
  const { cap, period, active, expiresAt } = fields;
  if (!active || (expiresAt !== undefined && expiresAt <= time)) return undefined;
  const windowEnd = windowEndOf(period, Math.max(time, window.start));
  const began = windowEnd !== 0 && windowEndOf(period, window.start) < windowEnd;
  const ends = [windowEnd, expiresAt ?? 0].filter((end) => end > 0);
  const endsAt = ends.length === 0 ? 0 : Math.min(...ends);
  return { balance: deposited - charged, cap, used: began ? 0n : window.used, confirmedAt: time, endsAt };
}
