// Lost requests have an unknown outcome; this file decides their end from a look-up.
// Their caller received nothing and is never charged: a bill that is found is our loss.
// Without a bill, a hold is freed only if the provider could be queried in time.
import { ReleaseReason } from "@gr/clients";
import type { Released } from "./order.ts";
import type { FoundBill, LookUpResult, Lost } from "./ports.ts";

/** Number of "no bill" answers that free a hold; the last one after the deadline. A first one may precede the bill. */
const UNBILLED_LOOK_UPS = 2;
/** Time after the deadline at which a hold is freed although the provider never answered. */
const LONGEST_SILENCE_MS = 3_600_000;

export const BILLED_WITHOUT_ANSWER = "billed_without_answer";
/** Reason for a request with an outcome that stays unknown. */
export const UNRESOLVED = "unresolved";

export type Verdict =
  | Released
  /** Repeat the look-up later. @see RequestRecord.putOff */
  | { readonly kind: "wait"; readonly unbilled: boolean };

/**
 * @param result undefined when the provider cannot be asked at all
 * @param now Unix milliseconds
 */
export function judgeLookUp(lost: Lost, result: LookUpResult<FoundBill> | undefined, now: number): Verdict {
  const { provider } = lost.route;
  const late = now - lost.deadlineAt;
  if (typeof result === "object" && (late >= 0 || lost.hasSeveralBills !== true)) {
    const message = "the provider billed it, and no client received its answer";
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
  const message = "the process that sent the request did not learn its outcome";
  return { kind: "released", reason: ReleaseReason.UNRESOLVED, cost: 0n, provider, why: UNRESOLVED, message };
}
