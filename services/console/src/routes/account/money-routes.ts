// Money routes answer the home page of an account. All figures are billing's; nothing is stored here.
import type { HomeRecord } from "@gr/console-api";
import { type Credits, formatCredits } from "@gr/money";
import { UsageGroup } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type Handlers } from "../../door/console-call.ts";
import { DAY_MS, dayOf } from "../../requests/days.ts";
import { writtenAlert } from "./alert-routes.ts";

const DAYS_SHOWN = 30;
const DAYS_OF_MEAN = 7;

export function moneyRoutes(deps: ConsoleDeps): Handlers<"readHome"> {
  return { readHome: (call) => readHome(deps, accountOf(call)) };
}

async function readHome(
  { billing, reports, keys, alerts, clock }: ConsoleDeps,
  accountId: string,
): Promise<HomeRecord> {
  const now = clock.now();
  const [fromDay, toDay] = [dayOf(now - (DAYS_SHOWN - 1) * DAY_MS), dayOf(now)];
  const [credits, usage, someKeys, open] = await Promise.all([
    billing.getCredits({ accountId }),
    reports.sumUsage({ accountId, group: UsageGroup.DAY, fromDay, toDay }),
    keys.listKeys({ accountId, kind: KeyKind.NORMAL, limit: 1 }),
    alerts.open(accountId, new Date(now)),
  ]);
  const since = (days: number) => {
    const first = dayOf(now - (days - 1) * DAY_MS);
    return usage.sums.reduce((sum, { group, credits: spent }) => (group >= first ? sum + spent : sum), 0n);
  };
  return {
    balance: formatCredits(credits.remainingCredits),
    held: formatCredits(credits.heldCredits),
    deposited: formatCredits(credits.depositedCredits),
    spend: {
      today: formatCredits(since(1)),
      last_7_days: formatCredits(since(7)),
      last_30_days: formatCredits(since(DAYS_SHOWN)),
    },
    days_left: daysLeft(credits.remainingCredits, since(DAYS_OF_MEAN)),
    first_steps: {
      has_deposit: credits.depositedCredits > 0n,
      has_key: someKeys.keys.length > 0,
      has_request: usage.requests > 0n || credits.depositedCredits > credits.remainingCredits,
    },
    open_alerts: open.map(writtenAlert),
  };
}

function daysLeft(balance: Credits, ofSevenDays: Credits): number | null {
  if (ofSevenDays === 0n) return null;
  return balance <= 0n ? 0 : Number((balance * BigInt(DAYS_OF_MEAN)) / ofSevenDays);
}
