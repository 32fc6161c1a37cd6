// Domain values as messages of the contract.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Outcome, RefusingBudget } from "@gr/ledger";
import {
  type GetCreditsResponseSchema,
  type HoldSchema,
  OutcomeCode,
  type Outcome as OutcomeMessage,
  OutcomeSchema,
  type SpenderUsageSchema,
  type VerifyLedgerResponseSchema,
} from "@gr/proto/billing";
import type { CreditSummary, SpenderUsage } from "../accounts/accounts.ts";
import type { Hold } from "../holds/hold.ts";
import type { LedgerReport } from "../verify/ledger-report.ts";
import { HOLD_STATES, LEVELS, PERIODS } from "./message-names.ts";

const CODES = new Map<string, OutcomeCode>(
  Object.entries(OutcomeCode).flatMap(([name, code]) =>
    typeof code === "number" ? [[name.toLowerCase(), code] as const] : [],
  ),
);

/** @throws Error for an outcome that no operation of the service has */
export function outcomeMessage({
  code: name,
  refusal,
  earlierHoldId = "",
  held = 0n,
}: Outcome): OutcomeMessage {
  const code = CODES.get(name);
  if (code === undefined) throw new Error(`The service has no name for the outcome ${name}.`);
  if (refusal === undefined) return create(OutcomeSchema, { code, earlierHoldId, heldCredits: held });
  const { inFlight, available, budget, resetsAt, expiresAt, suspended } = refusal;
  return create(OutcomeSchema, {
    code,
    inFlight,
    availableCredits: available,
    ...(budget === undefined ? {} : { period: PERIODS[budget.period], ...limitOf(budget) }),
    resetsAt: BigInt(resetsAt),
    expiresAt: BigInt(expiresAt),
    suspended,
  });
}

/** The amount of a budget above the key is not for the owner of the key. */
function limitOf({ isLowest, limit, level }: RefusingBudget) {
  return isLowest ? { capCredits: limit ?? 0n } : { budgetLevel: LEVELS[level] };
}

export function creditsMessage(summary: CreditSummary): MessageInitShape<typeof GetCreditsResponseSchema> {
  return {
    depositedCredits: summary.deposited,
    remainingCredits: summary.remaining,
    heldCredits: summary.held,
    usage: summary.usage.map(usageMessage),
    hasMore: summary.hasMore,
    suspended: summary.suspended,
  };
}

export function usageMessage(usage: SpenderUsage): MessageInitShape<typeof SpenderUsageSchema> {
  const { accountId, definition, windowStart } = usage;
  const { id: spenderId, parentId, name, limit, period, expiresAt, active, createdAt, revision } = definition;
  return {
    spender: {
      ...{ spenderId, accountId, name, active, revision },
      parentId: parentId ?? "",
      ...(limit === null ? {} : { capCredits: limit }),
      period: PERIODS[period],
      ...(expiresAt === null ? {} : { expiresAt: BigInt(expiresAt) }),
      createdAt: BigInt(createdAt),
    },
    usedCredits: usage.used,
    requests: BigInt(usage.requests),
    windowUsedCredits: usage.windowUsed,
    ...(windowStart === null ? {} : { windowStart: BigInt(windowStart) }),
  };
}

export function holdMessage(hold: Hold): MessageInitShape<typeof HoldSchema> {
  const { id: holdId, accountId, spenderId, credits, attempt, tag, state, kept } = hold;
  return {
    ...{ holdId, accountId, spenderId, credits, attempt, ...tag },
    state: HOLD_STATES[state],
    chargedCredits: hold.charge,
    costPicoUsd: hold.cost,
    placedAt: BigInt(hold.placedAt),
    deadlineAt: BigInt(hold.deadlineAt),
    ...(kept === undefined ? {} : { kept: { credits: kept.charge, costPicoUsd: kept.cost } }),
  };
}

export function reportMessage(report: LedgerReport): MessageInitShape<typeof VerifyLedgerResponseSchema> {
  return {
    differences: [...report.differences],
    accounts: report.accounts,
    holds: report.holds,
    openHolds: report.openHolds,
    chargedCredits: report.chargedCredits,
    chargedCostPicoUsd: report.chargedCost,
    lostCostPicoUsd: report.lostCost,
  };
}
