// What a look-up means for a request whose outcome nobody knows. Its caller got nothing, so it is never charged: a bill
// that is found is our loss, and without one the hold is freed only when the provider could have been asked in time.
import { ReleaseReason } from "@gr/clients";
import type { Released } from "./order.ts";
import type { FoundBill, LookUpResult, Lost } from "./ports.ts";

/** One "no bill" may come before the bill: it takes two, the second after the deadline. */
const UNBILLED_LOOK_UPS = 2;
/** Past its deadline by so much, a hold is freed although the provider never said anything about it. */
const LONGEST_SILENCE_MS = 3_600_000;

export const BILLED_WITHOUT_ANSWER = "billed_without_answer";
/** Of a request of which nobody can tell what became. */
export const UNRESOLVED = "unresolved";

export type Verdict =
  | Released
  /** Ask again. @see RequestRecord.putOff */
  | { readonly kind: "wait"; readonly unbilled: boolean };

/**
 * @param result undefined when the provider cannot be asked at all
 * @param now Unix milliseconds
 */
export function judgeLookUp(lost: Lost, result: LookUpResult<FoundBill> | undefined, now: number): Verdict {
  const { provider } = lost.route;
  const late = now - lost.deadlineAt;
  if (typeof result === "object" && (late >= 0 || lost.severalBills !== true)) {
    const message = "the provider billed it, and nobody got its answer";
    const { cost } = result;
    const { FAILED: reason } = ReleaseReason;
    return { kind: "released", reason, cost, provider, why: BILLED_WITHOUT_ANSWER, message };
  }
  const unbilled = result === "unknown";
  const enough =
    result === undefined ||
    (unbilled && lost.unbilledLookUps + 1 >= UNBILLED_LOOK_UPS) ||
    late > LONGEST_SILENCE_MS;
  if (late < 0 || !enough) return { kind: "wait", unbilled };
  const message = "the outcome was not known to the process that sent it";
  return { kind: "released", reason: ReleaseReason.UNRESOLVED, cost: 0n, provider, why: UNRESOLVED, message };
}
