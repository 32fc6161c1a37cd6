// Activity routes read the activity of an account from billing, with the names that people read: keys, members, and the playground.
import type { ActivityAnswer, ActivityFigures } from "@gr/console-api";
import { formatCredits } from "@gr/money";
import {
  ActivityBucket,
  ActivityGroup,
  type ActivityFigures as FiguresMessage,
  type Quantiles,
  type ReadActivityResponse,
} from "@gr/proto/activity";
import { csvLine } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers } from "../../door/console-call.ts";
import { DAY_MS, startOfDay } from "../../requests/days.ts";
import { spenderFilter, spenderIdOf } from "../../requests/spenders.ts";
import { sendCsv } from "./csv.ts";

type Asked = Pick<ConsoleCall<"readActivity">, "query" | "params">;

const BUCKETS = {
  hour: ActivityBucket.HOUR,
  day: ActivityBucket.DAY,
  week: ActivityBucket.WEEK,
  month: ActivityBucket.MONTH,
} as const;
const GROUPS = {
  model: ActivityGroup.MODEL,
  key: ActivityGroup.KEY,
  member: ActivityGroup.MEMBER,
  provider: ActivityGroup.PROVIDER,
  kind: ActivityGroup.KIND,
} as const;
const FIGURES = [
  ...["spend_usd", "requests", "errors", "input_tokens", "output_tokens"],
  ...["latency_median_ms", "latency_p95_ms", "first_token_median_ms", "first_token_p95_ms"],
];

export function activityRoutes(deps: ConsoleDeps): Handlers<"readActivity" | "exportActivity"> {
  return {
    readActivity: (call) => readActivity(deps, call),
    exportActivity: async (call) => {
      const { data, groups } = await readActivity(deps, call);
      const labels = new Map(groups.map(({ group, label }) => [group, label]));
      const lines = data.map((row) =>
        csvLine([row.begins_at, row.group, labels.get(row.group) ?? "", ...figureCells(row)]),
      );
      const head = csvLine(["begins_at", "group", "label", ...FIGURES]);
      return sendCsv(call.reply, "activity.csv", head + lines.join(""));
    },
  };
}

async function readActivity(deps: ConsoleDeps, call: Asked): Promise<ActivityAnswer> {
  const { activity, keyMembers, clock } = deps;
  const accountId = accountOf(call);
  const { from, to, bucket, group_by: groupBy, key_id: keyId, model, provider } = call.query;
  if (groupBy === "member") await keyMembers.nameAll(accountId);
  const answer = await activity.readActivity({
    accountId,
    bucket: BUCKETS[bucket],
    group: GROUPS[groupBy],
    ...(from === undefined ? {} : { from: BigInt(momentOf("from", from, 0)) }),
    until: BigInt(to === undefined ? Math.floor(clock.now()) + 1 : momentOf("to", to, DAY_MS)),
    ...spenderFilter(keyId, accountId),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
  });
  const nameOf = (group: string, isOther: boolean) => {
    if (isOther) return null;
    return groupBy === "key" ? spenderIdOf(group, accountId) : group;
  };
  const labels = await labelsOf(deps, groupBy, accountId, answer);
  return {
    bucket,
    from: timeOf(answer.begins[0] ?? 0n),
    to: timeOf(answer.end),
    buckets: answer.begins.map(timeOf),
    total: figuresOf(answer.total),
    totals: answer.buckets.map(({ begin, figures }) => ({ begins_at: timeOf(begin), ...figuresOf(figures) })),
    groups: answer.groups.map(({ group, isOther, label, figures }) => {
      return { group: nameOf(group, isOther), label: labels.get(group) ?? label, ...figuresOf(figures) };
    }),
    data: answer.rows.map(({ begin, group, isOther, figures }) => {
      return { begins_at: timeOf(begin), group: nameOf(group, isOther), ...figuresOf(figures) };
    }),
  };
}

/** A day, or a moment. @param later milliseconds from the begin of a day @throws ServiceError invalid_value */
function momentOf(field: string, value: string, later: number): number {
  return value.includes("T") ? Date.parse(value) : startOfDay(field, value) + later;
}

/** @returns names of groups, where billing has others or none */
async function labelsOf(
  { keyMembers }: ConsoleDeps,
  groupBy: keyof typeof GROUPS,
  accountId: string,
  { groups }: ReadActivityResponse,
): Promise<ReadonlyMap<string, string>> {
  if (groupBy === "key") return new Map([[accountId, "Playground"]]);
  if (groupBy !== "member") return new Map();
  const persons = groups.flatMap(({ group }) => (group === "" ? [] : [group]));
  return new Map([...(await keyMembers.namesOf(persons)), ["", "Keys without a creator"]]);
}

function figuresOf(figures: FiguresMessage | undefined): ActivityFigures {
  const {
    requests = 0n,
    errors = 0n,
    spendCredits = 0n,
    inputTokens = 0n,
    outputTokens = 0n,
  } = figures ?? {};
  return {
    spend: formatCredits(spendCredits),
    requests: Number(requests),
    errors: Number(errors),
    input_tokens: Number(inputTokens),
    output_tokens: Number(outputTokens),
    latency: quantilesOf(figures?.latency),
    first_token: quantilesOf(figures?.firstToken),
  };
}

function quantilesOf(found: Quantiles | undefined) {
  return found === undefined ? null : { median: Number(found.medianMs), p95: Number(found.p95Ms) };
}

function figureCells({ latency, first_token: first, ...sums }: ActivityFigures): (string | number | null)[] {
  const { spend, requests, errors, input_tokens: input, output_tokens: output } = sums;
  const times = [latency?.median, latency?.p95, first?.median, first?.p95];
  return [spend, requests, errors, input, output, ...times.map((ms) => ms ?? null)];
}

function timeOf(at: bigint): string {
  return new Date(Number(at)).toISOString();
}
