// RunningBalance computes the balance after each line of a ledger. Billing stores amounts, so the balance of a page follows from
// the present one. It is read between two reads of the newest entry, and counts only without a new entry between them.
import type { Credits } from "@gr/money";
import { type BillingReportService, type BillingService, EntryKind, UsageGroup } from "@gr/proto/billing";
import type { Clock, ServiceClient } from "@gr/runtime";
import { DAY_MS, dayOf } from "../requests/days.ts";

/** Tries to read an account between two of its charges. */
const TRIES = 5;
const MOST_BOOKINGS = 1_000;
/** Days of one call of billing for sums. */
const MOST_DAYS = 366;
/** Kinds that usage does not sum. They are few beside charges. */
const BOOKINGS = [EntryKind.DEPOSIT, EntryKind.REFUND, EntryKind.ADJUSTMENT] as const;

export interface RunningBalanceDeps {
  readonly billing: Pick<ServiceClient<typeof BillingService>, "getCredits">;
  readonly reports: Pick<ServiceClient<typeof BillingReportService>, "listEntries" | "sumUsage">;
  readonly clock: Clock;
}

/** A page of entries, and the balance after its first entry; undefined = it was not computed. */
export interface BalancedPage<Page> {
  readonly page: Page;
  readonly balance: Credits | undefined;
}

/**
 * Reads the newest page of a ledger, and the balance after its first entry.
 * @param until start of a day in UTC, Unix milliseconds: the page has earlier entries only
 */
export async function readBalanced<Page>(
  deps: RunningBalanceDeps,
  { accountId, until }: { readonly accountId: string; readonly until?: bigint | undefined },
  readPage: () => Promise<Page>,
): Promise<BalancedPage<Page>> {
  const newest = async () => (await deps.reports.listEntries({ accountId, limit: 1 })).entries[0]?.entryId;
  let before = await newest();
  for (let tries = 1; ; tries += 1) {
    const page = await readPage();
    const balance = await balanceAt(deps, accountId, until);
    const after = await newest();
    if (before === after) return { page, balance };
    if (tries === TRIES) return { page, balance: undefined };
    before = after;
  }
}

/** Returns the present balance, without the entries since `until`. */
async function balanceAt(
  { billing, reports, clock }: RunningBalanceDeps,
  accountId: string,
  until: bigint | undefined,
): Promise<Credits | undefined> {
  const { remainingCredits } = await billing.getCredits({ accountId });
  const now = clock.now();
  if (until === undefined || Number(until) > now) return remainingCredits;
  if (now - Number(until) >= (MOST_DAYS - 1) * DAY_MS) return undefined;
  const [{ credits: charged }, ...bookings] = await Promise.all([
    // A day more: billing's clock may be ahead of ours.
    reports.sumUsage({
      ...{ accountId, group: UsageGroup.DAY, limit: 1 },
      ...{ fromDay: dayOf(Number(until)), toDay: dayOf(now + DAY_MS) },
    }),
    ...BOOKINGS.map((kind) => reports.listEntries({ accountId, kind, from: until, limit: MOST_BOOKINGS })),
  ]);
  if (bookings.some(({ hasMore }) => hasMore)) return undefined;
  const booked = bookings.flatMap(({ entries }) => entries).reduce((sum, { credits }) => sum + credits, 0n);
  return remainingCredits + charged - booked;
}
