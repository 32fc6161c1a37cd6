// Messages own the conversion between the contract of billing and the ledger: operations, outcomes, spenders. A spender is a
// budget of level "key" without a parent.
import { create } from "@bufbuild/protobuf";
import type { BudgetDefinition, Claim, HoldOperation, Id, Outcome, Period } from "@gr/ledger";
import { ServiceError } from "@gr/proto";
import {
  type Claim as ClaimMessage,
  type Operation as OperationMessage,
  OutcomeCode,
  type Outcome as OutcomeMessage,
  OutcomeSchema,
  ReleaseReason,
  type Spender,
  SpendPeriod,
} from "@gr/proto/billing";

const PERIODS = {
  lifetime: SpendPeriod.LIFETIME,
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
} as const;

/** @param accountOf account of a hold */
export function operationOf(
  { operation }: OperationMessage,
  accountOf: (holdId: Id) => Id | undefined,
): HoldOperation {
  if (operation.value === undefined) throw new ServiceError("invalid_value", "An operation is empty.");
  const { holdId } = operation.value;
  const onHold = { accountId: accountOf(holdId) ?? "", holdId };
  switch (operation.case) {
    case "place": {
      const { accountId, spenderId, credits, mostCredits, deadlineAt, claim } = operation.value;
      const { service, provider, model, priceVersion, upstreamModel } = operation.value;
      return {
        kind: "place",
        ...{ accountId, holdId, budgetId: spenderId, credits, most: mostCredits },
        deadlineAt: Number(deadlineAt),
        tag: { service, provider, upstreamModel: upstreamModel || model, model, priceVersion },
        claim: claim && claimOf(claim),
      };
    }
    case "capture": {
      const { credits: charge, costPicoUsd: cost } = operation.value;
      return { kind: "capture", ...onHold, charge, cost };
    }
    case "release": {
      const { reason, costPicoUsd: cost, provider } = operation.value;
      const unresolved = reason === ReleaseReason.UNRESOLVED;
      return { kind: "release", ...onHold, cost, provider: provider || undefined, unresolved };
    }
    case "extend": {
      const { credits, mostCredits: most, deadlineAt } = operation.value;
      return { kind: "extend", ...onHold, credits, most, deadlineAt: Number(deadlineAt) };
    }
    case "nextAttempt": {
      const { attempt, provider, upstreamModel, costPicoUsd: cost, billedBy, deadlineAt } = operation.value;
      const next = { attempt, provider, upstreamModel, cost, billedBy: billedBy || undefined };
      return { kind: "next", ...onHold, ...next, deadlineAt: Number(deadlineAt) };
    }
  }
}

export function claimOf({ key, fingerprint }: ClaimMessage): Claim {
  return { key: hexOf(key), fingerprint: hexOf(fingerprint) };
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

export function outcomeMessage({ code, refusal, earlierHoldId = "", held = 0n }: Outcome): OutcomeMessage {
  const budget = refusal?.budget;
  return create(OutcomeSchema, {
    code: OutcomeCode[code.toUpperCase() as keyof typeof OutcomeCode],
    earlierHoldId,
    heldCredits: held,
    inFlight: refusal?.inFlight ?? false,
    availableCredits: refusal?.available ?? 0n,
    capCredits: budget?.limit ?? 0n,
    period: budget === undefined ? SpendPeriod.UNSPECIFIED : PERIODS[budget.period],
    resetsAt: BigInt(refusal?.resetsAt ?? 0),
    expiresAt: BigInt(refusal?.expiresAt ?? 0),
    suspended: refusal?.suspended ?? false,
  });
}

export function definitionOf(spender: Spender): BudgetDefinition {
  const { spenderId: id, name, capCredits, expiresAt, active, createdAt, revision } = spender;
  const period = (Object.keys(PERIODS) as Period[]).find((each) => PERIODS[each] === spender.period);
  if (period === undefined) throw invalid("spender.period", "It must be lifetime, day, week or month");
  return {
    ...{ id, parentId: null, level: "key", name, limit: capCredits ?? null, period, active, revision },
    expiresAt: expiresAt === undefined ? null : Number(expiresAt),
    createdAt: Number(createdAt),
  };
}

export function invalid(field: string, fault: string): ServiceError {
  return new ServiceError("invalid_value", `${fault} (field "${field}").`, { param: field });
}
