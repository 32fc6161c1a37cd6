// An outcome of the model as the contract says it: what a refusal does not have is zero.
import { create } from "@bufbuild/protobuf";
import { type Outcome, OutcomeSchema, SpendPeriod } from "@gr/proto/billing";
import type { Period } from "./hold-model.ts";
import type { LedgerOutcome } from "./ledger-model.ts";

const PERIODS = {
  lifetime: SpendPeriod.LIFETIME,
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
} as const;

export function outcomeMessage(outcome: LedgerOutcome, idOfHold: (hold: number) => string): Outcome {
  const { code, inFlight, available, cap, period, resetsAt, expiresAt, suspended, earlierHold, held } =
    outcome;
  return create(OutcomeSchema, {
    code,
    earlierHoldId: earlierHold === undefined ? "" : idOfHold(earlierHold),
    inFlight: inFlight ?? false,
    availableCredits: available ?? 0n,
    capCredits: cap ?? 0n,
    period: period === undefined ? SpendPeriod.UNSPECIFIED : PERIODS[period],
    resetsAt: BigInt(resetsAt ?? 0),
    expiresAt: BigInt(expiresAt ?? 0),
    suspended: suspended ?? false,
    heldCredits: held ?? 0n,
  });
}

export function periodOf(message: SpendPeriod): Period {
  const found = (Object.keys(PERIODS) as Period[]).find((period) => PERIODS[period] === message);
  if (found === undefined) throw new RangeError(`there is no spend period ${message}`);
  return found;
}
