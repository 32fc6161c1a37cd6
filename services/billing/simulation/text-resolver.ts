// Resolves text holds whose outcome their process never learnt, as in services/text-proxy/src/resolve-holds.ts: two
// early look-ups, and rounds over what is past its deadline. Found: our loss. Kept: captured. Unknown twice: given up.
import type { LeasedHold } from "./ledger-journal.ts";
import type { Router } from "./router.ts";
import type { Steps } from "./task.ts";
import { EARLY_LOOK_UPS_MS } from "./timing.ts";

export class TextResolver {
  readonly #router: Router;
  /** Holds that the upstream did not know at an earlier look-up. */
  readonly #unknown = new Set<number>();

  constructor(router: Router) {
    this.#router = router;
  }

  reset(): void {
    this.#unknown.clear();
  }

  resolveSoon(hold: number): void {
    this.#router.process.run(this.#early(hold));
  }

  *#early(hold: number): Steps {
    const { world, upstream } = this.#router;
    for (const pause of EARLY_LOOK_UPS_MS) {
      world.current().sleep(pause);
      yield;
      const asked = upstream.lookUp(hold);
      yield;
      const found = asked.reply;
      if (typeof found !== "bigint") continue;
      yield* this.#book(hold, found);
      return;
    }
  }

  *round(): Steps {
    const { process, billing } = this.#router;
    const leased = billing.lease("text");
    yield;
    for (const hold of leased.reply ?? []) process.run(this.#resolve(hold));
  }

  *#resolve({ hold, kept }: LeasedHold): Steps {
    const { world, upstream, billing } = this.#router;
    if (kept !== undefined && world.flaw !== "kept answer not captured") {
      world.count("resolver: kept answer captured");
      yield* billing.insist({ kind: "capture", hold, ...kept });
      return;
    }
    if (world.flaw === "blind release") {
      yield* this.#giveUp(hold);
      return;
    }
    const asked = upstream.lookUp(hold);
    yield;
    const found = asked.reply;
    if (typeof found === "bigint") {
      yield* this.#book(hold, found);
      return;
    }
    if (found !== "unknown") return;
    if (this.#unknown.has(hold) || world.flaw === "one look-up only") yield* this.#giveUp(hold);
    else {
      world.count("resolver: not found, once");
      this.#unknown.add(hold);
    }
  }

  /** The client of such a hold got no answer: what it cost is ours. */
  *#book(hold: number, cost: bigint): Steps {
    const { world, billing } = this.#router;
    world.count("resolver: cost found");
    if (world.flaw === "resolver charges what it finds") {
      yield* billing.insist({ kind: "capture", hold, credits: 1n, cost });
    } else yield* billing.insist({ kind: "release", hold, cost });
  }

  *#giveUp(hold: number): Steps {
    const { world, billing } = this.#router;
    world.count("resolver: given up");
    yield* billing.insist({ kind: "abandon", hold, cost: 0n });
    this.#unknown.delete(hold);
  }
}
