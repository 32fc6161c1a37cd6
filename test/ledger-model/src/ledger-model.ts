// All that billing should do with a place: HoldModel's money, behind claims and the daily limit of free requests.
import { OutcomeCode } from "@gr/proto/billing";
import { ClaimModel, type ModelClaim } from "./claim-model.ts";
import {
  availableTo,
  HoldModel,
  type ModelOperation,
  type ModelOutcome,
  type SpenderFields,
  windowStart,
} from "./hold-model.ts";

const DAY = 86_400_000;

/** A question whether a hold could be paid for; `credits` is its size, 0 the smallest. */
interface Asked {
  readonly account: number;
  readonly spender: number;
  readonly key: ModelClaim["key"] | undefined;
  readonly credits: bigint;
}

type Place = Extract<ModelOperation, { kind: "place" }> & { readonly claim?: ModelClaim | undefined };
export type LedgerOperation = Exclude<ModelOperation, { kind: "place" }> | Place;
export type LedgerOutcome = ModelOutcome & { readonly earlierHold?: number };

export class LedgerModel extends HoldModel {
  readonly claims = new ClaimModel((hold) => this.holds.get(hold)?.state);
  /** Infinity = no limit. */
  readonly #freeLimit: number;
  readonly #freeUse: { day: number; used: number }[];

  constructor(
    accounts: number,
    spenders: readonly { account: number; fields: SpenderFields }[],
    freeLimit: number,
  ) {
    super(accounts, spenders);
    this.#freeLimit = freeLimit;
    this.#freeUse = [];
  }

  override apply(operation: LedgerOperation, now: number): LedgerOutcome {
    if (operation.kind !== "place" || this.holds.has(operation.hold)) return super.apply(operation, now);
    const { claim, account, hold } = operation;
    if (claim === undefined) return this.#place(operation, now);
    const taken = this.#judgeClaim(account, claim, now);
    if (taken !== undefined) {
      const bad = this.spenderRefusal(operation.spender, account, now) !== undefined;
      return bad ? super.apply(operation, now) : (this.#capRefusal(operation, taken, now) ?? taken);
    }
    const outcome = this.#place(operation, now);
    if (outcome.code === OutcomeCode.DONE) this.claims.take(account, claim, hold, now);
    return outcome;
  }

  /** What a place with this claim would meet because of it. Changes nothing. */
  judge(account: number, spender: number, claim: ModelClaim, now: number): LedgerOutcome {
    const taken = this.#judgeClaim(account, claim, now);
    if (taken === undefined) return { code: OutcomeCode.DONE };
    const bad = this.spenderRefusal(spender, account, now);
    if (bad !== undefined || taken.earlierHold === undefined) return bad ?? taken;
    const credits = this.holds.get(taken.earlierHold)?.amount ?? 0n;
    return this.#capRefusal({ account, spender, credits }, taken, now) ?? taken;
  }

  /** What a place would meet if no hold were open: of a key that is not free, only a bad spender. */
  check(asked: Asked, now: number): LedgerOutcome {
    const { account, spender, key, credits } = asked;
    const bad = this.spenderRefusal(spender, account, now);
    if (bad !== undefined) return bad;
    const refusal = this.placeRefusal({ account, spender, credits: credits === 0n ? 1n : credits }, now);
    const owner = key === undefined ? undefined : this.claims.owner(account, { key, content: "" }, now);
    if (refusal === undefined || refusal.inFlight === true || owner !== undefined) {
      return { code: OutcomeCode.DONE };
    }
    return refusal;
  }

  /** What another spender was charged for is answered only to one whose cap has room for it, were no hold open. */
  #capRefusal(
    place: Pick<Place, "account" | "spender" | "credits">,
    { earlierHold }: LedgerOutcome,
    now: number,
  ): LedgerOutcome | undefined {
    if (earlierHold === undefined || this.holds.get(earlierHold)?.spender === place.spender) return undefined;
    const refusal = this.placeRefusal(place, now);
    return refusal?.code === OutcomeCode.SPEND_LIMIT_EXCEEDED && !refusal.inFlight ? refusal : undefined;
  }

  /** Undefined when the key is free. */
  #judgeClaim(account: number, claim: ModelClaim, now: number): LedgerOutcome | undefined {
    const owner = this.claims.owner(account, claim, now);
    if (owner === undefined) return undefined;
    if (owner.content !== claim.content) return { code: OutcomeCode.CLAIM_MISMATCH };
    if (this.holds.get(owner.hold)?.state === "open") return { code: OutcomeCode.CLAIM_IN_PROGRESS };
    return { code: OutcomeCode.CLAIM_FINISHED, earlierHold: owner.hold };
  }

  #place(place: Place, now: number): ModelOutcome {
    const { account, spender, credits } = place;
    if (credits > 0n || this.spenderRefusal(spender, account, now) !== undefined)
      return super.apply(place, now);
    const payer = this.accounts[account];
    if (payer === undefined) throw new RangeError(`no account ${account}`);
    this.#freeUse[account] ??= { day: 0, used: 0 };
    const use = this.#freeUse[account];
    const today = windowStart("day", now) ?? 0;
    if (today > use.day) Object.assign(use, { day: today, used: 0 });
    if (use.used >= this.#freeLimit) {
      const available = availableTo(payer);
      return { code: OutcomeCode.FREE_LIMIT_EXCEEDED, available, resetsAt: use.day + DAY };
    }
    use.used += 1;
    return super.apply(place, now);
  }
}
