// Refusal owns the words of billing's refusals for the client: balance, limits, budgets, and open requests.
// A budget above the key is never named, because the owner of the key may be a customer.
import { expiredKey, invalidKey } from "@gr/identity";
import { formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { BudgetLevel, type Outcome, OutcomeCode, SpendPeriod } from "@gr/proto/billing";

const IN_FLIGHT_RETRY_MS = 1_000;
export const CLAIM_RETRY_MS = 1_000;

export function unavailable(cause: unknown): ServiceError {
  const message = "Billing cannot be reached, so nothing was started and nothing charged; try again shortly.";
  return new ServiceError("billing_unavailable", message, { retryAfterMs: 1_000, cause });
}

/** Returns the caller's error for a refused place. @param now Unix milliseconds */
export function refusal(outcome: Outcome, now: number): ServiceError {
  switch (outcome.code) {
    case OutcomeCode.INSUFFICIENT_CREDITS:
      return outcome.inFlight
        ? new ServiceError(
            "credits_in_flight",
            "The remaining credits are reserved by requests that are still running; try again when they have finished.",
            { retryAfterMs: IN_FLIGHT_RETRY_MS },
          )
        : new ServiceError(
            "insufficient_credits",
            `This request may cost more than the ${formatCredits(outcome.availableCredits)} USD of credit that are left.`,
          );
    case OutcomeCode.SPEND_LIMIT_EXCEEDED:
      return spendLimit(outcome);
    case OutcomeCode.BUDGET_CLOSED:
      return budgetClosed(outcome);
    case OutcomeCode.SPENDER_EXPIRED:
      return expiredKey("API key", Number(outcome.expiresAt));
    case OutcomeCode.SPENDER_INACTIVE:
      return outcome.suspended
        ? new ServiceError(
            "account_suspended",
            "The operator has suspended this account, so it cannot spend. Running requests continue; ask the operator to lift the suspension.",
          )
        : invalidKey();
    case OutcomeCode.FREE_LIMIT_EXCEEDED:
      return freeLimit(outcome, now);
    case OutcomeCode.TOO_MANY_HOLDS:
      return new ServiceError(
        "rate_limit_exceeded",
        "This account has as many open requests as one account may have; try again when some have ended. You are not charged.",
        { retryAfterMs: IN_FLIGHT_RETRY_MS },
      );
    case OutcomeCode.SHARE_OF_HOLDS_USED:
      return new ServiceError(
        "rate_limit_exceeded",
        "This API key has its share of the open requests of its account, three for each free place; try again when some have ended. You are not charged.",
        { retryAfterMs: IN_FLIGHT_RETRY_MS },
      );
    case OutcomeCode.CLAIM_IN_PROGRESS:
      return new ServiceError(
        "idempotency_in_progress",
        "A request with this Idempotency-Key is still running; send it again with the same key when it has ended.",
        { retryAfterMs: CLAIM_RETRY_MS },
      );
    case OutcomeCode.CLAIM_MISMATCH:
      return new ServiceError(
        "idempotency_mismatch",
        "This Idempotency-Key was used for another request; use a new key for each request.",
        { param: "Idempotency-Key" },
      );
    default:
      return unavailable(new Error(`place was answered with outcome ${outcome.code}`));
  }
}

function freeLimit({ resetsAt }: Outcome, now: number): ServiceError {
  const message =
    "This account has reached the daily limit of requests to free models. " +
    `Further requests are possible from ${isoTime(resetsAt)}.`;
  const retryAfterMs = Math.max(0, Number(resetsAt) - now);
  return new ServiceError("free_limit_exceeded", message, { retryAfterMs });
}

/** Words for a budget above the key: neither its name nor its amount is for the owner of the key. */
const BUDGETS: Readonly<Record<number, string>> = {
  [BudgetLevel.ACCOUNT]: "account's budget",
  [BudgetLevel.MEMBER]: "member's budget",
  [BudgetLevel.CUSTOMER]: "customer's budget",
  [BudgetLevel.KEY]: "key's budget",
  [BudgetLevel.JOB]: "job's budget",
};

function budgetClosed({ budgetLevel, expiresAt }: Outcome): ServiceError {
  const state = expiresAt === 0n ? "is closed" : `expired at ${isoTime(expiresAt)}`;
  const message = `The ${BUDGETS[budgetLevel] ?? "budget"} above this key ${state}, so this request was not started.`;
  return new ServiceError("budget_closed", message, { param: "budget" });
}

/** Words after the amount of a limit; a period of a newer contract has none. */
const PERIOD_WORDS: Readonly<Record<SpendPeriod, string>> = {
  [SpendPeriod.UNSPECIFIED]: "",
  [SpendPeriod.LIFETIME]: "",
  [SpendPeriod.DAY]: " a day",
  [SpendPeriod.WEEK]: " a week",
  [SpendPeriod.MONTH]: " a month",
};

function spendLimit(outcome: Outcome): ServiceError {
  const { budgetLevel, capCredits: ownLimit, period, resetsAt } = outcome;
  const isOwn = budgetLevel === BudgetLevel.UNSPECIFIED;
  const limit = isOwn
    ? `This key's spend limit of ${formatCredits(ownLimit)} USD${PERIOD_WORDS[period] ?? ""}`
    : `The limit of the ${BUDGETS[budgetLevel] ?? "budget"} above this key`;
  const about = isOwn ? {} : { param: "budget" };
  if (outcome.inFlight) {
    const message = `${limit} is reserved by requests that are still running; try again when they have finished.`;
    return new ServiceError("spend_limit_in_flight", message, { ...about, retryAfterMs: IN_FLIGHT_RETRY_MS });
  }
  const resets = resetsAt === 0n ? "It does not reset." : `It resets at ${isoTime(resetsAt)}.`;
  return new ServiceError("spend_limit_exceeded", `${limit} does not allow this request. ${resets}`, about);
}

function isoTime(unixMs: bigint): string {
  return new Date(Number(unixMs)).toISOString();
}
