// HeldWhere remembers the ledger of each hold that this process placed.
// For other holds the caller queries each ledger: a ledger without the hold answers UNKNOWN_HOLD and changes nothing.
// A silent ledger may have the hold, so its silence fails the search.
import { type Outcome, OutcomeCode } from "@gr/proto/billing";

/** Most remembered holds: more than one process has open at a time. */
const MOST_REMEMBERED = 50_000;

export class HeldWhere {
  readonly #shards: number;
  readonly #known = new Map<string, number>();

  constructor(shards: number) {
    this.#shards = shards;
  }

  remember(holdId: string, shard: number): void {
    if (this.#shards === 1) return;
    this.#known.set(holdId, shard);
    // Forgets the oldest; a later look-up searches all ledgers.
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_REMEMBERED) break;
      this.#known.delete(oldest);
    }
  }

  /** @returns the answer of the hold's ledger; UNKNOWN_HOLD if no ledger has it. @throws as `ask` */
  async find(holdId: string, ask: (shard: number) => Promise<Outcome>): Promise<Outcome> {
    const known = this.#known.get(holdId) ?? 0;
    let outcome = await ask(known);
    for (let shard = 0; shard < this.#shards && outcome.code === OutcomeCode.UNKNOWN_HOLD; shard += 1) {
      if (shard === known) continue;
      outcome = await ask(shard);
      if (outcome.code !== OutcomeCode.UNKNOWN_HOLD) this.remember(holdId, shard);
    }
    return outcome;
  }
}
