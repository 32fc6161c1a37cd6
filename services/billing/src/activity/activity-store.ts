// Activity store owns the reads of activity, and the names that its groups need: kinds of models, members of keys.
// A read passes over at most the hours or the days of its range, of one account; it never reads a request.
import type { Pool } from "@gr/runtime";
import { bucketOf } from "../chain/bucket.ts";
import type { Bucket } from "./activity-span.ts";
import type { Histogram } from "./duration-steps.ts";
import { sumSteps, TEXT_SERVICE } from "./roll-up-store.ts";

export const ACTIVITY_GROUPS = ["model", "key", "member", "provider", "kind"] as const;
export type ActivityGroup = (typeof ACTIVITY_GROUPS)[number];

/** Rows that are read. */
export interface ActivityFilter {
  readonly accountId: string;
  readonly bucket: Bucket;
  /** Unix milliseconds: begin of the first bucket, and end of the last one. */
  readonly from: number;
  readonly until: number;
  readonly group: ActivityGroup;
  readonly spenderId: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
}

/** Sums of one group, in one bucket or in the whole range. */
export interface ActivityRow {
  /** Undefined for sums of the whole range. */
  readonly begin: number | undefined;
  /** Name of the group; undefined for groups that were not asked for by name. */
  readonly group: string | undefined;
  readonly requests: bigint;
  readonly errors: bigint;
  readonly charge: bigint;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  readonly latency: Histogram;
  readonly firstToken: Histogram;
}

type StepsRow = Omit<ActivityRow, "inputTokens" | "outputTokens" | "firstToken">;
type TextsRow = Pick<ActivityRow, "begin" | "group" | "inputTokens" | "outputTokens" | "firstToken">;

export interface ActivityStore {
  /** Sums of steps, and of lines of texts. @param shown names of the groups that have buckets; absent: sums of the range */
  sum(
    filter: ActivityFilter,
    shown?: readonly string[],
  ): Promise<{ steps: readonly StepsRow[]; texts: readonly TextsRow[] }>;
  nameKinds(kinds: ReadonlyMap<string, string>): Promise<void>;
  /** @param members persons by key */
  nameMembers(accountId: string, members: ReadonlyMap<string, string>): Promise<void>;
}

type Table = "activity" | "text_activity";

const COLUMNS: Readonly<Record<Table, string>> = {
  activity: `sum(a.requests)::bigint AS requests, sum(a.errors)::bigint AS errors, sum(a.charge)::bigint AS charge,
    ${sumSteps("a.latency")}::float8[] AS latency`,
  text_activity: `sum(a.input_tokens)::bigint AS "inputTokens", sum(a.output_tokens)::bigint AS "outputTokens",
    ${sumSteps("a.first_token")}::float8[] AS "firstToken"`,
};

function groupOf(group: ActivityGroup, table: Table): string {
  switch (group) {
    case "key":
      return "a.budget_id::text";
    case "member":
      return "coalesce(m.member::text, '')";
    case "kind":
      return table === "text_activity"
        ? "'text'"
        : `CASE a.service WHEN '${TEXT_SERVICE}' THEN 'text' WHEN '' THEN coalesce(k.kind, 'text') ELSE coalesce(k.kind, 'media') END`;
    default:
      return `a.${group}`;
  }
}

function joinOf(group: ActivityGroup, table: Table): string {
  if (group === "member") {
    return "LEFT JOIN key_member m ON m.account_id = a.account_id AND m.budget_id = a.budget_id";
  }
  return group === "kind" && table === "activity" ? "LEFT JOIN model_kind k ON k.model = a.model" : "";
}

/** Rows of days are the begins of days; a week and a month are sums of them. */
function beginOf(bucket: Bucket): string {
  if (bucket === "hour" || bucket === "day") return "a.begins_at";
  const begin = `date_trunc('${bucket}', to_timestamp(a.begins_at / 1000) AT TIME ZONE 'UTC')`;
  return `(extract(epoch FROM ${begin}) * 1000)::bigint`;
}

/** Exported for the test of its plan. */
export function sumQuery(
  table: Table,
  filter: ActivityFilter,
  shown: readonly string[] | undefined,
): { text: string; values: unknown[] } {
  const { accountId, bucket, from, until, group, spenderId, model, provider } = filter;
  const name = groupOf(group, table);
  const values: unknown[] = [bucketOf(accountId), accountId, bucket === "hour" ? 1 : 24, from, until];
  const terms =
    "a.bucket = $1 AND a.account_id = $2 AND a.hours = $3 AND a.begins_at >= $4 AND a.begins_at < $5";
  const filters = (
    [
      ["budget_id", spenderId],
      ["model", model],
      ["provider", provider],
    ] as const
  ).map(([column, value]) => (value === undefined ? "" : ` AND a.${column} = $${values.push(value)}`));
  const columns =
    shown === undefined
      ? `NULL::bigint AS begin, ${name} AS "group"`
      : `${beginOf(bucket)} AS begin, CASE WHEN ${name} = ANY ($${values.push(shown)}::text[]) THEN ${name} END AS "group"`;
  const text = `SELECT ${columns}, ${COLUMNS[table]} FROM ${table} a ${joinOf(group, table)}
    WHERE ${terms}${filters.join("")} GROUP BY 1, 2`;
  return { text, values };
}

const NAME_KINDS = `INSERT INTO model_kind AS k (model, kind) SELECT * FROM unnest($1::text[], $2::text[])
  ON CONFLICT (model) DO UPDATE SET kind = excluded.kind WHERE k.kind <> excluded.kind`;

const NAME_MEMBERS = `INSERT INTO key_member AS m (account_id, budget_id, member)
  SELECT $1, * FROM unnest($2::uuid[], $3::uuid[])
  ON CONFLICT (account_id, budget_id) DO UPDATE SET member = excluded.member WHERE m.member <> excluded.member`;

export function createActivityStore(pool: Pool): ActivityStore {
  const read = async <Row extends { begin: unknown; group: unknown }>(
    table: Table,
    filter: ActivityFilter,
    shown: readonly string[] | undefined,
  ) => {
    const { text, values } = sumQuery(table, filter, shown);
    const { rows } = await pool.query<
      Omit<Row, "begin" | "group"> & { begin: bigint | null; group: string | null }
    >(text, values);
    return rows.map(({ begin, group, ...sums }) => {
      return { ...sums, begin: begin === null ? undefined : Number(begin), group: group ?? undefined };
    });
  };
  return {
    sum: async (filter, shown) => {
      const [steps, texts] = await Promise.all([
        read<StepsRow>("activity", filter, shown),
        read<TextsRow>("text_activity", filter, shown),
      ]);
      return { steps: steps as StepsRow[], texts: texts as TextsRow[] };
    },
    nameKinds: async (kinds) => {
      await pool.query(NAME_KINDS, [[...kinds.keys()], [...kinds.values()]]);
    },
    nameMembers: async (accountId, members) => {
      await pool.query(NAME_MEMBERS, [accountId, [...members.keys()], [...members.values()]]);
    },
  };
}
