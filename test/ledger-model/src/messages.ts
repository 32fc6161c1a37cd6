// Messages own the conversion between the contract of billing and the ledger: operations, outcomes, spenders, budgets. A spender is
// a budget of level "key".
import { create } from "@bufbuild/protobuf";
import type { BudgetChange, BudgetDefinition, Claim, HoldOperation, Id, Outcome } from "@gr/ledger";
import { ServiceError } from "@gr/proto";
import {
  BudgetLevel,
  type Claim as ClaimMessage,
  type Operation as OperationMessage,
  OutcomeCode,
  type Outcome as OutcomeMessage,
  OutcomeSchema,
  ReleaseReason,
  type Spender,
  SpendPeriod,
} from "@gr/proto/billing";
import type { PutBudgetRequest } from "@gr/proto/budgets";

export const SPEND_PERIODS = {
  lifetime: SpendPeriod.LIFETIME,
  day: SpendPeriod.DAY,
  week: SpendPeriod.WEEK,
  month: SpendPeriod.MONTH,
} as const;

export const BUDGET_LEVELS = {
  account: BudgetLevel.ACCOUNT,
  member: BudgetLevel.MEMBER,
  customer: BudgetLevel.CUSTOMER,
  key: BudgetLevel.KEY,
  job: BudgetLevel.JOB,
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
      const { service, provider, model, priceVersion, upstreamModel, personId } = operation.value;
      return {
        kind: "place",
        ...{ accountId, holdId, budgetId: spenderId, memberId: personId || undefined },
        ...{ credits, most: mostCredits },
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
    capCredits: (budget?.isLowest ? budget.limit : null) ?? 0n,
    period: budget === undefined ? SpendPeriod.UNSPECIFIED : SPEND_PERIODS[budget.period],
    budgetLevel:
      budget === undefined || budget.isLowest ? BudgetLevel.UNSPECIFIED : BUDGET_LEVELS[budget.level],
    resetsAt: BigInt(refusal?.resetsAt ?? 0),
    expiresAt: BigInt(refusal?.expiresAt ?? 0),
    suspended: refusal?.suspended ?? false,
  });
}

export function definitionOf(spender: Spender): BudgetDefinition {
  const { spenderId: id, name, capCredits: limit = null, expiresAt, active, createdAt, revision } = spender;
  const period = nameIn(SPEND_PERIODS, spender.period, "spender.period");
  const parentId = spender.parentId || null;
  return {
    ...{ id, parentId, level: "key", name, limit, period, active, revision },
    expiresAt: expiresAt === undefined ? null : Number(expiresAt),
    createdAt: Number(createdAt),
  };
}

/** @throws ServiceError invalid_value */
function nameIn<Name extends string>(
  names: Readonly<Record<Name, number>>,
  value: number,
  field: string,
): Name {
  const name = (Object.keys(names) as Name[]).find((each) => names[each] === value);
  if (name === undefined) throw invalid(field, `It must be ${Object.keys(names).join(", ")}`);
  return name;
}

/** Content of a new budget. */
export function newBudgetOf(put: PutBudgetRequest, createdAt: number): BudgetDefinition {
  const { budgetId: id, name = "", active = true } = put;
  const none = { parentId: null, limit: null, period: "lifetime", expiresAt: null } as const;
  const level = nameIn(BUDGET_LEVELS, put.level, "level");
  return { ...none, id, level, name, active, createdAt, revision: 1n, ...budgetChangeOf(put) };
}

export function budgetChangeOf({
  parentId,
  name,
  limit,
  period,
  expiry,
  active,
}: PutBudgetRequest): BudgetChange {
  return {
    ...(parentId === "" ? {} : { parentId }),
    ...(name === undefined ? {} : { name }),
    ...(limit.case === undefined ? {} : { limit: limit.case === "limitCredits" ? limit.value : null }),
    ...(period === SpendPeriod.UNSPECIFIED ? {} : { period: nameIn(SPEND_PERIODS, period, "period") }),
    ...(expiry.case === undefined
      ? {}
      : { expiresAt: expiry.case === "expiresAt" ? Number(expiry.value) : null }),
    ...(active === undefined ? {} : { active }),
  };
}

export function invalid(field: string, fault: string): ServiceError {
  return new ServiceError("invalid_value", `${fault} (field "${field}").`, { param: field });
}
