// In which ledger a hold is. Whoever placed it here knows; of others each ledger is asked, since one that does not know a hold
// changes nothing and says so. A ledger that is silent may know it: then nothing is concluded.
import { type Outcome, OutcomeCode } from "@gr/proto/billing";

/** More than one process has open at a time. */
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
    // The oldest; what is forgotten is looked for.
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_REMEMBERED) break;
      this.#known.delete(oldest);
    }
  }

  /** @returns what the ledger answers that knows the hold; UNKNOWN_HOLD if none does. @throws as `ask` */
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
