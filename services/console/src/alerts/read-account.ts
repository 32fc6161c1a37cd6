// ReadAccount collects the figures that alerts depend on, at the services that own them. The number of calls is bounded:
// pages of keys, and one page of the newest requests of each kind.
import { spendLimitOf } from "@gr/proto";
import {
  type BillingService,
  HoldState,
  type SpenderUsage,
  SpendPeriod,
  type TextLogService,
} from "@gr/proto/billing";
import { GenerationStatus, type MediaGenerationService } from "@gr/proto/media";
import type { Clock, ServiceClient } from "@gr/runtime";
import { type Budget, RATE_WINDOW_MS, type Readings } from "./alert-rules.ts";

const SPENDERS_PAGE = 1_000;
/** Keys beyond them cause no alert of a budget. */
const MOST_PAGES = 10;
/** Newest requests of each kind that count for the failure rate. */
const NEWEST_REQUESTS = 100;

export interface ReadAccountDeps {
  readonly billing: Pick<ServiceClient<typeof BillingService>, "getCredits">;
  readonly texts: Pick<ServiceClient<typeof TextLogService>, "listTexts">;
  readonly media: Pick<ServiceClient<typeof MediaGenerationService>, "listGenerations">;
  readonly clock: Clock;
}

export interface AccountReadings extends Readings {
  /** Calls for the keys. */
  readonly pages: number;
}

/** Reads the figures of one account. @param wanted parts that the account's rules need */
export type ReadAccount = (
  accountId: string,
  wanted: { readonly budgets: boolean; readonly requests: boolean },
) => Promise<AccountReadings>;

export function createReadAccount(deps: ReadAccountDeps): ReadAccount {
  return async (accountId, wanted) => {
    const [credits, requests] = await Promise.all([
      readCredits(deps, accountId, wanted.budgets),
      wanted.requests ? countRequests(deps, accountId) : { failed: 0, ended: 0 },
    ]);
    return { ...credits, requests };
  };
}

async function readCredits({ billing }: ReadAccountDeps, accountId: string, bySpender: boolean) {
  const budgets: Budget[] = [];
  let balance = 0n;
  let pages = 0;
  for (let after = "", isMore = true; isMore && pages < MOST_PAGES; pages += 1) {
    const page = await billing.getCredits({ accountId, bySpender, limit: SPENDERS_PAGE, after });
    balance = page.remainingCredits;
    budgets.push(...page.usage.flatMap(budgetOf));
    after = page.usage.at(-1)?.spender?.spenderId ?? "";
    isMore = bySpender && page.hasMore;
  }
  return { balance, budgets, pages };
}

function budgetOf({ spender, usedCredits, windowUsedCredits, windowStart }: SpenderUsage): Budget[] {
  const limit = spender === undefined ? undefined : spendLimitOf(spender);
  if (spender === undefined || !spender.active || limit === undefined) return [];
  const isPeriodic = spender.period !== SpendPeriod.LIFETIME && spender.period !== SpendPeriod.UNSPECIFIED;
  return [
    {
      keyId: spender.spenderId,
      keyName: spender.name,
      limit,
      used: isPeriodic ? windowUsedCredits : usedCredits,
      period: isPeriodic ? String(windowStart ?? "unused") : "lifetime",
    },
  ];
}

/** Counts requests that have begun within the last hour. Refusals without a hold and blocked requests do not count. */
async function countRequests({ texts, media, clock }: ReadAccountDeps, accountId: string) {
  const since = BigInt(clock.now() - RATE_WINDOW_MS);
  const [text, generations] = await Promise.all([
    texts.listTexts({ accountId, beganAfter: since, limit: NEWEST_REQUESTS }),
    media.listGenerations({ accountId, createdAfter: since, limit: NEWEST_REQUESTS }),
  ]);
  const ends = [
    ...text.texts.map(({ state }) => [state === HoldState.RELEASED, state === HoldState.CAPTURED]),
    ...generations.generations.map(({ status }) => [
      status === GenerationStatus.FAILED,
      status === GenerationStatus.SUCCEEDED,
    ]),
  ];
  const failed = ends.filter(([hasFailed]) => hasFailed).length;
  return { failed, ended: failed + ends.filter(([, hasSucceeded]) => hasSucceeded).length };
}
