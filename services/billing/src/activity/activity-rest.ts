// ActivityRest owns GET /v1/activity: the figures of the calling key, or of its account, over time.
import { normalKey, type Principal } from "@gr/identity";
import { formatCredits } from "@gr/money";
import { type Clock, csvLine, isUuid, type RestRoute, restRoute } from "@gr/runtime";
import { z } from "zod";
import { invalid, text } from "../rpc/field-rules.ts";
import { BUCKETS, MOST_BUCKETS, type Span, spanOf } from "./activity-span.ts";
import { ACTIVITY_GROUPS, type ActivityGroup } from "./activity-store.ts";
import {
  type Activity,
  type Figures,
  MOST_GROUPS,
  type Quantiles,
  type ReadActivity,
} from "./read-activity.ts";

const DAY_MS = 86_400_000;
/** Replaces the id of the spender of web tokens, as in GET /v1/credits. */
const WEB_TOKEN = "web_token";
const MOST_NAME = 300;

const once = (name: string) => ({ error: `${name} must occur once` });
const moment = (name: string) =>
  z.union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    `${name} must be a day, for example 2027-01-31, or an ISO 8601 time with its zone, for example 2027-01-31T18:00:00Z; a + is written %2B`,
  );
const oneOf = <const Names extends readonly [string, ...string[]]>(name: string, names: Names) =>
  z.enum(names, { error: `${name} must be one of ${names.join(", ")}` });
const filterText = (name: string) =>
  z
    .string(once(name))
    .min(1, `${name} must not be empty`)
    .max(MOST_NAME, `${name} must have at most ${MOST_NAME} characters`)
    .optional();

const query = z.object({
  scope: oneOf("scope", ["key", "account"])
    .optional()
    .describe("key (the default): the requests of this key; account: of all keys of its account"),
  from: moment("from")
    .optional()
    .describe(
      "a day, or a time with its zone; the first bucket contains it. Absent: 24 hours, 30 days, 12 weeks or 12 months up to `to`",
    ),
  to: moment("to")
    .optional()
    .describe("the last day, or a time with its zone, in or at the end of the last bucket; now if absent"),
  bucket: oneOf("bucket", BUCKETS)
    .optional()
    .describe(`day if absent. Buckets are in UTC, weeks begin on Monday; at most ${MOST_BUCKETS}`),
  group: oneOf("group", ACTIVITY_GROUPS)
    .optional()
    .describe("model if absent. member: the person who created the key; kind: text, image or video"),
  key: filterText("key").describe(
    `only of this key of the account: its id, or ${WEB_TOKEN}; with scope=key only the key itself`,
  ),
  model: filterText("model").describe("only of this model"),
  provider: filterText("provider").describe("only of this provider of the last attempt"),
  format: oneOf("format", ["json", "csv"]).optional().describe("csv: the rows of `data` as CSV"),
});
type Query = z.infer<typeof query>;

const time = () => z.string().meta({ format: "date-time" });
const quantiles = z.object({ median: z.number().int(), p95: z.number().int() }).nullable();
const figures = {
  spend: z
    .string()
    .regex(/^-?\d+\.\d{4}$/)
    .describe("USD charged, exact"),
  requests: z.number().int().describe("ended requests, by the time of their end"),
  errors: z
    .number()
    .int()
    .describe("the requests among them that ended without a charge: failed, blocked or cancelled"),
  input_tokens: z.number().int().describe("of texts"),
  output_tokens: z.number().int().describe("of texts"),
  latency: quantiles.describe(
    "milliseconds of charged requests, estimated from steps of 42 %; null without any",
  ),
  first_token: quantiles.describe("milliseconds to the first byte of streams of text; null without any"),
};
const group = z
  .string()
  .nullable()
  .describe(`null: all groups beyond the ${MOST_GROUPS} largest. Empty: unknown`);
const answer = z.object({
  scope: z.enum(["key", "account"]),
  bucket: z.enum(BUCKETS),
  group: z.enum(ACTIVITY_GROUPS),
  from: time().describe("begin of the first bucket"),
  to: time().describe("end of the last bucket"),
  buckets: z.array(time()).describe("begins of all buckets, oldest first"),
  total: z.object(figures),
  totals: z
    .array(z.object({ begins_at: time(), ...figures }))
    .describe("sums of all groups by bucket, oldest first; a bucket without a request has no row"),
  groups: z
    .array(
      z.object({ group, name: z.string().describe("name of a key; otherwise as the group"), ...figures }),
    )
    .describe("sums of the range, the most spent first"),
  data: z
    .array(z.object({ begins_at: time(), group, ...figures }))
    .describe("oldest first; a bucket without a request of a group has no row"),
});

export interface ActivityRestDeps {
  readonly readActivity: ReadActivity;
  readonly clock: Clock;
}

export const activityRoute = ({ readActivity, clock }: ActivityRestDeps): RestRoute =>
  restRoute({
    method: "GET",
    path: "/v1/activity",
    summary: "Read spend, requests, tokens, errors and latency over time",
    access: normalKey,
    query,
    responses: {
      200: {
        description: "Sums by bucket and group",
        schema: answer,
        others: { "text/csv": { schema: z.string() } },
      },
      400: { description: "A parameter is not valid; param names it" },
      401: { description: "Missing, invalid, expired or management key" },
    },
    handle: async ({ query: asked, caller, reply }) => {
      const { bucket = "day", group: groupBy = "model" } = asked;
      const span = spanOf(bucket, momentOf("from", asked.from, 0), untilOf(asked.to, clock.now()));
      const spenderId = spenderOf(asked, caller);
      const filter = {
        ...{ accountId: caller.accountId, span, group: groupBy, spenderId },
        model: asked.model && text("model", asked.model, MOST_NAME),
        provider: asked.provider && text("provider", asked.provider, MOST_NAME),
      };
      const activity = await readActivity(filter);
      const body = answerOf(activity, asked, { span, groupBy, accountId: caller.accountId });
      if (asked.format !== "csv") return body;
      return reply
        .type("text/csv; charset=utf-8")
        .header("content-disposition", 'attachment; filename="activity.csv"')
        .send(csvOf(body));
    },
  });

/** @param later milliseconds after the begin of a day @throws ServiceError invalid_value */
function momentOf(field: string, value: string | undefined, later: number): number | undefined {
  if (value === undefined) return undefined;
  const at = Date.parse(value) + (value.includes("T") ? 0 : later);
  if (at < 0) throw invalid(field, "It must not be before 1970");
  return at;
}

/** @returns the first moment behind the range: a day is in it */
function untilOf(to: string | undefined, now: number): number {
  return momentOf("to", to, DAY_MS) ?? now + 1;
}

/** @throws ServiceError invalid_value */
function spenderOf({ scope = "key", key }: Query, { kind, accountId, keyId }: Principal): string | undefined {
  const own = kind === "web_token" ? accountId : keyId;
  if (key === undefined) return scope === "key" ? own : undefined;
  const id = key === WEB_TOKEN ? accountId : key.toLowerCase();
  if (!isUuid(id)) throw invalid("key", `It must be the id of a key, or ${WEB_TOKEN}`);
  if (scope === "key" && id !== own) {
    throw invalid("key", "It must be the calling key itself, unless scope is account");
  }
  return id;
}

interface Asked {
  readonly span: Span;
  readonly groupBy: ActivityGroup;
  readonly accountId: string;
}

function answerOf(
  { total, groups, rows, buckets }: Activity,
  { scope = "key" }: Query,
  { span, groupBy, accountId }: Asked,
): z.infer<typeof answer> {
  const nameOf = (name: string | undefined) => {
    if (name === undefined) return null;
    return groupBy === "key" && name === accountId ? WEB_TOKEN : name;
  };
  const labelOf = (name: string | undefined, label: string) =>
    nameOf(name) === WEB_TOKEN ? "Temporary web token" : label;
  return {
    scope,
    bucket: span.bucket,
    group: groupBy,
    from: timeOf(span.begins[0] ?? 0),
    to: timeOf(span.end),
    buckets: span.begins.map(timeOf),
    total: figuresOf(total),
    totals: buckets.map(({ begin, ...sums }) => ({ begins_at: timeOf(begin), ...figuresOf(sums) })),
    groups: groups.map(({ group: name, label, ...sums }) => {
      return { group: nameOf(name), name: labelOf(name, label), ...figuresOf(sums) };
    }),
    data: rows.map(({ begin, group: name, ...sums }) => {
      return { begins_at: timeOf(begin), group: nameOf(name), ...figuresOf(sums) };
    }),
  };
}

function figuresOf({ spend, requests, errors, inputTokens, outputTokens, latency, firstToken }: Figures) {
  return {
    spend: formatCredits(spend),
    requests: Number(requests),
    errors: Number(errors),
    input_tokens: Number(inputTokens),
    output_tokens: Number(outputTokens),
    latency: quantilesOf(latency),
    first_token: quantilesOf(firstToken),
  };
}

function quantilesOf(found: Quantiles | undefined) {
  return found === undefined ? null : { median: found.medianMs, p95: found.p95Ms };
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

function csvOf({ data, groups }: z.infer<typeof answer>): string {
  const names = new Map(groups.map(({ group: id, name }) => [id, name]));
  const head = [
    "begins_at",
    "group",
    "name",
    "spend_usd",
    "requests",
    "errors",
    "input_tokens",
    "output_tokens",
  ];
  const times = ["latency_median_ms", "latency_p95_ms", "first_token_median_ms", "first_token_p95_ms"];
  const lines = data.map((row) =>
    csvLine([
      ...[row.begins_at, row.group, names.get(row.group) ?? "", row.spend, row.requests, row.errors],
      ...[row.input_tokens, row.output_tokens, row.latency?.median ?? null, row.latency?.p95 ?? null],
      ...[row.first_token?.median ?? null, row.first_token?.p95 ?? null],
    ]),
  );
  return csvLine([...head, ...times]) + lines.join("");
}
