// LedgerModel, and the flaws that a ledger of its kind could have. Without a flaw it passes everything on.

import type { LedgerModel, LedgerOutcome } from "@gr/ledger-model";
import { OutcomeCode } from "@gr/proto/billing";
import { present } from "./audit.ts";
import type { Extend, Place, Resolution } from "./operation.ts";
import { CLAIM_LIFETIME_MS } from "./timing.ts";
import { windowStartOf } from "./window.ts";
import type { World } from "./world.ts";

const PLENTY = 1_000_000n;
/** By how much a claim is wrong about its day. */
const CLOSE_MS = 3_000;

export class FlawedLedger {
  readonly #world: World;
  readonly #model: LedgerModel;
  /** Amounts of holds as they were placed. */
  readonly #placed = new Map<number, bigint>();

  constructor(world: World, model: LedgerModel) {
    this.#world = world;
    this.#model = model;
  }

  place(place: Place, at: number): LedgerOutcome {
    this.#placed.set(place.hold, place.credits);
    switch (this.#world.flaw) {
      case "cap checked, then acted upon":
      case "mirror admits alone":
        return place.admitted === true ? this.#admit(place, at) : this.#model.apply(place, at);
      case "revoked key checked in the gateway only":
        return this.#trust(place, at);
      case "place repeated reserves again":
        return this.#reserve(place, at);
      case "holds carried into the next window":
        return this.#carry(place, at);
      case "window start moves back":
        return this.#moveBack(place, at);
      case "claim taken over while its hold is open":
        return this.#takeOver(place, at, true);
      case "claim ends too early":
        return this.#takeOver(place, at, this.#endsWithin(place, at, CLOSE_MS));
      case "claim ends while its hold is open":
        return this.#takeOver(place, at, this.#isOpenAfterItsDay(place, at));
      case "claim outlives its day":
        return this.#outlive(place, at);
      case "replay without looking at the spender":
        return this.#trustClaim(place, at);
      default:
        return this.#model.apply(place, at);
    }
  }

  extend(extend: Extend, at: number): LedgerOutcome {
    const hold = this.#model.holds.get(extend.hold);
    if (hold === undefined) return this.#model.apply(extend, at);
    switch (this.#world.flaw) {
      case "extension repeated reserves again":
        if (hold.state === "open" && extend.credits <= hold.amount) {
          hold.window.held += extend.credits;
          present(this.#model.accounts[hold.account]).held += extend.credits;
        }
        return this.#model.apply(extend, at);
      case "extension without a look at the money":
        return this.#unlimited(hold, () => this.#model.apply(extend, at));
      default:
        return this.#model.apply(extend, at);
    }
  }

  resolve(operation: Resolution, at: number): LedgerOutcome {
    const hold = this.#model.holds.get(operation.hold);
    if (this.#world.flaw === "extension outlives its hold" && hold?.state === "open") {
      hold.amount = present(this.#placed.get(operation.hold));
    }
    if (operation.kind !== "capture") return this.#model.apply(operation, at);
    if (hold === undefined) return this.#model.apply(operation, at);
    const account = present(this.#model.accounts[hold.account]);
    const spender = present(this.#model.spenders[hold.spender]);
    switch (this.#world.flaw) {
      case "capture repeated charges again":
        if (hold.state === "captured") account.charged += operation.credits;
        break;
      case "late cost charged to the customer":
        if (hold.state === "released") account.charged += operation.credits;
        break;
      case "capture refused for lack of balance":
        if (account.charged + operation.credits > account.deposited) {
          return { code: OutcomeCode.INSUFFICIENT_CREDITS, inFlight: false };
        }
        break;
      case "charge in the current window":
        if (hold.state === "open" && hold.window !== spender.window) {
          hold.window.used -= operation.credits;
          spender.window.used += operation.credits;
        }
        break;
      default:
    }
    return this.#model.apply(operation, at);
  }

  /** Whatever the balance and the cap say by now. */
  #admit(place: Place, at: number): LedgerOutcome {
    return this.#unlimited(place, () => this.#model.apply(place, at));
  }

  #unlimited(of: { account: number; spender: number }, apply: () => LedgerOutcome): LedgerOutcome {
    const account = present(this.#model.accounts[of.account]);
    const spender = present(this.#model.spenders[of.spender]);
    const { fields } = spender;
    account.deposited += PLENTY;
    spender.fields = { ...fields, cap: undefined };
    const outcome = apply();
    spender.fields = fields;
    account.deposited -= PLENTY;
    return outcome;
  }

  #takeOver(place: Place, at: number, wrongly: boolean): LedgerOutcome {
    const outcome = this.#model.apply(place, at);
    const taken =
      outcome.code === OutcomeCode.CLAIM_IN_PROGRESS || outcome.code === OutcomeCode.CLAIM_FINISHED;
    if (!wrongly || !taken || place.claim === undefined) return outcome;
    const placed = this.#model.apply({ ...place, claim: undefined }, at);
    if (placed.code === OutcomeCode.DONE) this.#model.claims.take(place.account, place.claim, place.hold, at);
    return placed;
  }

  #endsWithin({ account, claim }: Place, at: number, ms: number): boolean {
    return claim !== undefined && this.#model.claims.owner(account, claim, at + ms) === undefined;
  }

  #isOpenAfterItsDay({ account, claim }: Place, at: number): boolean {
    const owner = claim === undefined ? undefined : this.#model.claims.owner(account, claim, at);
    return owner !== undefined && owner.since <= at - CLAIM_LIFETIME_MS;
  }

  #outlive(place: Place, at: number): LedgerOutcome {
    const { account, claim } = place;
    if (claim === undefined || this.#model.claims.owner(account, claim, at) !== undefined) {
      return this.#model.apply(place, at);
    }
    const owner = this.#model.claims.owner(account, claim, at - CLOSE_MS);
    if (owner === undefined) return this.#model.apply(place, at);
    return { code: OutcomeCode.CLAIM_FINISHED, earlierHold: owner.hold };
  }

  #trustClaim(place: Place, at: number): LedgerOutcome {
    const outcome = this.#model.apply(place, at);
    const bad = outcome.code === OutcomeCode.SPENDER_INACTIVE || outcome.code === OutcomeCode.SPENDER_EXPIRED;
    if (!bad || place.claim === undefined) return outcome;
    const owner = this.#model.claims.owner(place.account, place.claim, at);
    const charged = owner !== undefined && this.#model.holds.get(owner.hold)?.state === "captured";
    return charged ? { code: OutcomeCode.CLAIM_FINISHED, earlierHold: owner.hold } : outcome;
  }

  #trust(place: Place, at: number): LedgerOutcome {
    const spender = present(this.#model.spenders[place.spender]);
    const { fields } = spender;
    spender.fields = { ...fields, active: true, expiresAt: undefined };
    const outcome = this.#model.apply(place, at);
    spender.fields = fields;
    return outcome;
  }

  #reserve(place: Place, at: number): LedgerOutcome {
    const hold = this.#model.holds.get(place.hold);
    if (hold?.state === "open") {
      hold.window.held += place.credits;
      present(this.#model.accounts[place.account]).held += place.credits;
    }
    return this.#model.apply(place, at);
  }

  #carry(place: Place, at: number): LedgerOutcome {
    const spender = present(this.#model.spenders[place.spender]);
    const before = spender.window;
    const outcome = this.#model.apply(place, at);
    if (spender.window !== before && outcome.code === OutcomeCode.DONE) spender.window.held += before.held;
    return outcome;
  }

  #moveBack(place: Place, at: number): LedgerOutcome {
    const spender = present(this.#model.spenders[place.spender]);
    const start = windowStartOf(spender.fields.period, at);
    const known = spender.window.start ?? 0;
    if (start < known && !this.#model.holds.has(place.hold)) {
      spender.window = { start, used: 0n, held: 0n };
    }
    return this.#model.apply(place, at);
  }
}
