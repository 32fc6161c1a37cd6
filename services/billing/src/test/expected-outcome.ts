// An outcome of the model as the contract says it: what a refusal does not have is zero.
import { messageOfPeriod } from "../message-names.ts";
import type { LedgerOutcome } from "./ledger-model.ts";

export function expectedOutcome(outcome: LedgerOutcome, idOfHold: (hold: number) => string) {
  const { code, inFlight, available, cap, period, resetsAt, expiresAt, earlierHold } = outcome;
  return {
    code,
    earlierHoldId: earlierHold === undefined ? "" : idOfHold(earlierHold),
    inFlight: inFlight ?? false,
    availableCredits: available ?? 0n,
    capCredits: cap ?? 0n,
    period: period === undefined ? 0 : messageOfPeriod(period),
    resetsAt: BigInt(resetsAt ?? 0),
    expiresAt: BigInt(expiresAt ?? 0),
  };
}
