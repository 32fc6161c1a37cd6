// Past states own the books of each moment of a history. A refusal from memory is right if the ledger would have refused the same request
// within the last second.

import type { Place, SpenderFields } from "../ledger/operation.ts";
import { MOST_SKEW_MS } from "../world/timing.ts";
import type { World } from "../world/world.ts";
import type { Audit } from "./audit.ts";
import { windowStartOf } from "./window.ts";

interface State {
  readonly since: number;
  readonly fields: SpenderFields;
  readonly windowStart: number;
  /** Charges in the window. */
  readonly used: bigint;
  /** Deposited less charged. */
  readonly balance: bigint;
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
    const { deposited, charged } = this.#audit.account(account);
    const balance = deposited - charged;
    this.#audit.spenders.forEach(({ account: owner, fields, window }, index) => {
      if (owner !== account) return;
      const { start: windowStart, used } = window;
      const since = this.#world.now;
      this.#states[index]?.push({ since, fields, windowStart, used, balance });
    });
  }

  /** Whether the ledger would have refused this, for want of money and without regard to open holds, at some moment from `since` until now. */
  wasRefusable(place: Pick<Place, "spender" | "credits">, since: number): boolean {
    const states = this.#states[place.spender] ?? [];
    for (let index = states.length - 1; index >= 0; index -= 1) {
      const state = states[index];
      if (state === undefined) break;
      const from = Math.max(state.since, since);
      // The longer a state lasts, the more windows have ended: its first moment refuses the most.
      if (refuses(state, place.credits, from - MOST_SKEW_MS)) return true;
      if (state.since <= since) return false;
    }
    return false;
  }
}

function refuses({ fields, windowStart, used, balance }: State, credits: bigint, at: number): boolean {
  if (credits === 0n) return false;
  if (credits > balance) return true;
  const { cap, period } = fields;
  if (cap === undefined) return false;
  return (windowStartOf(period, at) > windowStart ? 0n : used) + credits > cap;
}
