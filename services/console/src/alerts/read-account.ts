// ReadAccount collects the figures that alerts depend on, at the services that own them. The number of calls is bounded:
// pages of keys and of the budgets above them, and one page of the newest requests of each kind.
import { spendLimitOf } from "@gr/proto";
import {
  type BillingService,
  BudgetLevel,
  HoldState,
  type SpenderUsage,
  SpendPeriod,
  type TextLogService,
} from "@gr/proto/billing";
import { type BudgetService, BudgetState, type Budget as SharedBudget } from "@gr/proto/budgets";
import { GenerationStatus, type MediaGenerationService } from "@gr/proto/media";
import type { Clock, ServiceClient } from "@gr/runtime";
import { type Budget, type BudgetLevelName, RATE_WINDOW_MS, type Readings } from "./alert-rules.ts";

/** Keys, or budgets above keys, in one call. */
const PAGE = 1_000;
/** Keys beyond these pages cause no alert. An account has at most 10,000 budgets above its keys. */
const MOST_PAGES = 10;
const SHARED_LEVELS: ReadonlyMap<BudgetLevel, BudgetLevelName> = new Map([
  [BudgetLevel.ACCOUNT, "account"],
  [BudgetLevel.MEMBER, "member"],
  [BudgetLevel.CUSTOMER, "customer"],
]);
/** Newest requests of each kind that count for the failure rate. */
const NEWEST_REQUESTS = 100;

export interface ReadAccountDeps {
  readonly billing: Pick<ServiceClient<typeof BillingService>, "getCredits">;
  readonly budgets: Pick<ServiceClient<typeof BudgetService>, "listBudgets">;
  readonly texts: Pick<ServiceClient<typeof TextLogService>, "listTexts">;
  readonly media: Pick<ServiceClient<typeof MediaGenerationService>, "listGenerations">;
  readonly clock: Clock;
}

export interface AccountReadings extends Readings {
  /** Calls for the keys, and for budgets above them after the first 1,000. */
  readonly pages: number;
}

/** Reads the figures of one account. @param wanted parts that the account's rules need */
export type ReadAccount = (
  accountId: string,
  wanted: { readonly budgets: boolean; readonly requests: boolean },
) => Promise<AccountReadings>;

export function createReadAccount(deps: ReadAccountDeps): ReadAccount {
  return async (accountId, wanted) => {
    const [credits, shared, requests] = await Promise.all([
      readCredits(deps, accountId, wanted.budgets),
      wanted.budgets ? readShared(deps, accountId) : { budgets: [], pages: 1 },
      wanted.requests ? countRequests(deps, accountId) : { failed: 0, ended: 0 },
    ]);
    const budgets = [...credits.budgets, ...shared.budgets];
    return { balance: credits.balance, budgets, pages: credits.pages + shared.pages - 1, requests };
  };
}

async function readCredits({ billing }: ReadAccountDeps, accountId: string, bySpender: boolean) {
  const budgets: Budget[] = [];
  let balance = 0n;
  const pages = await readPages(async (after) => {
    const page = await billing.getCredits({ accountId, bySpender, limit: PAGE, after });
    balance = page.remainingCredits;
    budgets.push(...page.usage.flatMap(budgetOf));
    return { last: page.usage.at(-1)?.spender?.spenderId, hasMore: bySpender && page.hasMore };
  });
  return { balance, budgets, pages };
}

/** Reads the budgets above keys. */
async function readShared({ budgets: { listBudgets } }: ReadAccountDeps, accountId: string) {
  const budgets: Budget[] = [];
  const pages = await readPages(async (after) => {
    const page = await listBudgets({ accountId, levels: [...SHARED_LEVELS.keys()], limit: PAGE, after });
    budgets.push(...page.budgets.flatMap(sharedBudgetOf));
    return { last: page.budgets.at(-1)?.budgetId, hasMore: page.hasMore };
  });
  return { budgets, pages };
}

/** Reads one page after the other. @returns their number */
async function readPages(
  read: (after: string) => Promise<{ readonly last: string | undefined; readonly hasMore: boolean }>,
): Promise<number> {
  let pages = 0;
  for (let after = "", isMore = true; isMore && pages < MOST_PAGES; pages += 1) {
    const { last = "", hasMore } = await read(after);
    after = last;
    isMore = hasMore;
  }
  return pages;
}

/** The end of a window names it: the next window has another end. */
function sharedBudgetOf({
  budgetId,
  name,
  level,
  limitCredits,
  usedCredits,
  ...more
}: SharedBudget): Budget[] {
  const levelName = SHARED_LEVELS.get(level);
  if (levelName === undefined || limitCredits === undefined || more.state !== BudgetState.OPEN) return [];
  const period = more.resetsAt === 0n ? "lifetime" : String(more.resetsAt);
  return [{ id: budgetId, name, level: levelName, limit: limitCredits, used: usedCredits, period }];
}

function budgetOf({ spender, usedCredits, windowUsedCredits, windowStart }: SpenderUsage): Budget[] {
  const limit = spender === undefined ? undefined : spendLimitOf(spender);
  if (spender === undefined || !spender.active || limit === undefined) return [];
  const isPeriodic = spender.period !== SpendPeriod.LIFETIME && spender.period !== SpendPeriod.UNSPECIFIED;
  return [
    {
      id: spender.spenderId,
      name: spender.name,
      level: "key",
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
