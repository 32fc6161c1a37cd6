// What the ledger said at each moment of a history, so that a refusal can be held against the past: a refusal from a
// mirror is right when the ledger would have given it, for the same request, not long ago.

import type { Place, SpenderFields } from "../ledger/operation.ts";
import type { World } from "../world/world.ts";
import type { Audit } from "./audit.ts";
import { windowStartOf } from "./window.ts";

interface State {
  readonly since: number;
  readonly fields: SpenderFields;
  readonly windowStart: number;
  /** Used and held in the window. */
  readonly taken: bigint;
  /** Deposited less charged and held. */
  readonly free: bigint;
}

export class PastStates {
  readonly #world: World;
  readonly #audit: Audit;
  readonly #states: State[][];

  constructor(world: World, audit: Audit) {
    this.#world = world;
    this.#audit = audit;
    this.#states = audit.spenders.map(() => []);
  }

  remember(account: number): void {
    const { deposited, charged, held } = this.#audit.account(account);
    const free = deposited - charged - held;
    this.#audit.spenders.forEach(({ account: owner, fields, window }, index) => {
      if (owner !== account) return;
      const { start: windowStart, used, held: heldInWindow } = window;
      const since = this.#world.now;
      this.#states[index]?.push({ since, fields, windowStart, taken: used + heldInWindow, free });
    });
  }

  /** Whether the ledger would have refused this, for want of money, at some moment from `since` until now. */
  wasRefusable(place: Pick<Place, "spender" | "credits">, since: number): boolean {
    const states = this.#states[place.spender] ?? [];
    for (let index = states.length - 1; index >= 0; index -= 1) {
      const state = states[index];
      if (state === undefined) break;
      const from = Math.max(state.since, since);
      // The longer a state lasts, the more windows have ended: its first moment refuses the most.
      if (refuses(state, place.credits, from - this.#world.postgresLag)) return true;
      if (state.since <= since) return false;
    }
    return false;
  }
}

function refuses({ fields, windowStart, taken, free }: State, credits: bigint, at: number): boolean {
  if (credits === 0n) return false;
  if (credits > free) return true;
  const { cap, period } = fields;
  if (cap === undefined) return false;
  return (windowStartOf(period, at) > windowStart ? 0n : taken) + credits > cap;
}
