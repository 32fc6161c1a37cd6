// Domain values as messages of the contract.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetCreditsResponseSchema,
  type HoldSchema,
  type Outcome,
  OutcomeSchema,
  type SpenderUsageSchema,
  type VerifyLedgerResponseSchema,
} from "@gr/proto/billing";
import type { CreditSummary } from "../accounts/accounts.ts";
import type { SpenderUsage } from "../accounts/spender.ts";
import type { Hold } from "../holds/hold.ts";
import type { LedgerReport } from "../verify/ledger-report.ts";
import type { Posted } from "../writer/posted.ts";
import { messageOfHoldState, messageOfLevel, messageOfPeriod } from "./message-names.ts";

export function outcomeMessage({ code, refusal, earlierHoldId = "", held = 0n }: Posted): Outcome {
  if (refusal === undefined) return create(OutcomeSchema, { code, earlierHoldId, heldCredits: held });
  const { inFlight, available, cap, period, level, resetsAt, expiresAt, suspended } = refusal;
  return create(OutcomeSchema, {
    code,
    inFlight,
    availableCredits: available,
    capCredits: cap,
    ...(period === undefined ? {} : { period: messageOfPeriod(period) }),
    ...(level === undefined ? {} : { budgetLevel: messageOfLevel(level) }),
    resetsAt,
    expiresAt,
    suspended,
  });
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
  const { spender, windowStart } = usage;
  return {
    spender: {
      spenderId: spender.id,
      accountId: spender.accountId,
      name: spender.name,
      ...(spender.cap === null ? {} : { capCredits: spender.cap }),
      period: messageOfPeriod(spender.period),
      ...(spender.expiresAt === null ? {} : { expiresAt: unixMs(spender.expiresAt) }),
      active: spender.active,
      createdAt: unixMs(spender.createdAt),
      revision: spender.revision,
      parentId: spender.parentId ?? "",
    },
    usedCredits: usage.used,
    requests: usage.requests,
    windowUsedCredits: usage.windowUsed,
    ...(windowStart === null ? {} : { windowStart: unixMs(windowStart) }),
  };
}

export function holdMessage(hold: Hold): MessageInitShape<typeof HoldSchema> {
  return {
    holdId: hold.id,
    accountId: hold.accountId,
    spenderId: hold.spenderId,
    credits: hold.credits,
    state: messageOfHoldState(hold.state),
    chargedCredits: hold.charge,
    costPicoUsd: hold.cost,
    service: hold.service,
    provider: hold.provider,
    upstreamModel: hold.upstreamModel,
    attempt: hold.attempt,
    model: hold.model,
    priceVersion: hold.priceVersion,
    placedAt: unixMs(hold.placedAt),
    deadlineAt: unixMs(hold.deadlineAt),
    ...(hold.kept === undefined ? {} : { kept: { credits: hold.kept.credits, costPicoUsd: hold.kept.cost } }),
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

function unixMs(date: Date): bigint {
  return BigInt(date.getTime());
}
