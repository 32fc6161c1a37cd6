// An account's money: the home page, and sums of usage. All figures are billing's; nothing is kept here.
import { type HomeRecord, USAGE_DAYS_MAX, USAGE_ROWS_MAX, type UsageAnswer } from "@gr/console-api";
import { type Credits, formatCredits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { UsageGroup, type UsageSum } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers } from "../../door/console-call.ts";
import { DAY_MS, dayOf, startOfDay } from "../../requests/days.ts";
import { spenderFilter, spenderIdOf } from "../../requests/spenders.ts";
import { writtenAlert } from "./alert-routes.ts";

const DAYS_SHOWN = 30;
const DAYS_OF_MEAN = 7;
const MOST_NAMES = 1_000;
/** Most sums of one billing call: kinds are sums over all models. */
const MOST_SUMS = 5_000;

type MoneyRoutes = Handlers<"readHome" | "readUsage">;

export function moneyRoutes(deps: ConsoleDeps): MoneyRoutes {
  return {
    readHome: (call) => readHome(deps, accountOf(call)),
    readUsage: (call) => readUsage(deps, call),
  };
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

const GROUPS = {
  day: UsageGroup.DAY,
  key: UsageGroup.SPENDER,
  model: UsageGroup.MODEL,
  provider: UsageGroup.PROVIDER,
  kind: UsageGroup.MODEL,
} as const;

async function readUsage(
  deps: ConsoleDeps,
  call: Pick<ConsoleCall<"readUsage">, "query" | "params">,
): Promise<UsageAnswer> {
  const { reports, clock, modelKinds } = deps;
  const { group_by: groupBy, key_id: keyId, model } = call.query;
  const accountId = accountOf(call);
  const perDay = call.query.per_day === "true" && groupBy !== "day";
  const days = daysOf(call.query, clock.now());
  const answer = await reports.sumUsage({
    accountId,
    group: GROUPS[groupBy],
    perDay,
    fromDay: days.from,
    toDay: days.to,
    ...spenderFilter(keyId, accountId),
    ...(model === undefined ? {} : { model }),
    limit: groupBy === "kind" ? MOST_SUMS : USAGE_ROWS_MAX,
  });
  const sums = groupBy === "kind" ? byKind(answer.sums, await modelKinds.read(), perDay) : answer.sums;
  const labels = groupBy === "key" ? await namesOf(deps, accountId, sums) : new Map<string, string>();
  return {
    ...days,
    total: { requests: Number(answer.requests), spend: formatCredits(answer.credits) },
    data: sums.map(({ group, day, requests, credits }) => {
      const name = groupBy === "key" ? spenderIdOf(group, accountId) : group || "unknown";
      return {
        group: name,
        label: labels.get(group) ?? name,
        day: perDay ? day : null,
        requests: Number(requests),
        spend: formatCredits(credits),
      };
    }),
    is_cut: answer.hasMore,
  };
}

/** @throws ServiceError invalid_value */
function daysOf({ from, to }: { from?: string | undefined; to?: string | undefined }, now: number) {
  const last = to === undefined ? startOfDay("to", dayOf(now)) : startOfDay("to", to);
  const first = from === undefined ? last - (DAYS_SHOWN - 1) * DAY_MS : startOfDay("from", from);
  const invalid = (message: string) => {
    throw new ServiceError("invalid_value", `${message} (field "from").`, { param: "from" });
  };
  if (first > last) invalid("It must not be later than to");
  if (last - first >= USAGE_DAYS_MAX * DAY_MS) invalid(`At most ${USAGE_DAYS_MAX} days fit in one answer`);
  return { from: dayOf(first), to: dayOf(last) };
}

type Sum = Pick<UsageSum, "group" | "day" | "requests" | "credits">;

function byKind(sums: readonly Sum[], kinds: ReadonlyMap<string, string>, perDay: boolean): Sum[] {
  const found = new Map<string, Sum>();
  for (const { group: model, day, requests, credits } of sums) {
    const group = kinds.get(model) ?? "other";
    const known = found.get(`${day} ${group}`);
    const before = known ?? { group, day, requests: 0n, credits: 0n };
    const sum = { group, day, requests: before.requests + requests, credits: before.credits + credits };
    found.set(`${day} ${group}`, sum);
  }
  const most = (a: Sum, b: Sum) => (b.credits > a.credits ? 1 : b.credits < a.credits ? -1 : 0);
  return [...found.values()].sort((a, b) => (perDay ? a.day.localeCompare(b.day) : 0) || most(a, b));
}

/** Names of keys by the ids of their spenders; billing has those of deleted keys, too. */
async function namesOf(
  { reports }: ConsoleDeps,
  accountId: string,
  sums: readonly Sum[],
): Promise<Map<string, string>> {
  const ids = [...new Set(sums.map(({ group }) => group))];
  const names = new Map([[accountId, "Playground"]]);
  for (let start = 0; start < ids.length; start += MOST_NAMES) {
    const spenderIds = ids.slice(start, start + MOST_NAMES);
    const { usage } = await reports.readSpenders({ accountId, spenderIds });
    for (const { spender } of usage) {
      if (spender !== undefined && spender.spenderId !== accountId)
        names.set(spender.spenderId, spender.name);
    }
  }
  return names;
}
