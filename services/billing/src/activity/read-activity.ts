// ReadActivity merges sums of steps and of text lines into one answer: the groups, largest first, and a row for each group and bucket.
// Groups beyond the largest are one group, so the rows always add up to the total. Reads wait in a fair queue, because their sums would
// fill the pool of connections that reads of credits need.
import type { Credits } from "@gr/money";
import { FairGate } from "@gr/runtime";
import type { AccountStore } from "../accounts/accounts.ts";
import { invalid } from "../rpc/field-rules.ts";
import type { Span } from "./activity-span.ts";
import type { ActivityFilter, ActivityRow, ActivityStore } from "./activity-store.ts";
import { addHistograms, NO_DURATIONS, quantileOf } from "./duration-steps.ts";

/** Groups with rows of their own. */
export const MOST_GROUPS = 50;
/** Names of keys in one read of an account. */
const MOST_NAMES = 1_000;
/** A read acquires at most two connections at a time. */
const GATE = { places: 2, perOwner: 1, waitingPerOwner: 8, waiting: 32, name: "reads of activity" };

export interface Quantiles {
  readonly medianMs: number;
  readonly p95Ms: number;
}

/** Sums of requests. */
export interface Figures {
  /** All ended requests. */
  readonly requests: bigint;
  /** The requests among them without a charge: failed, blocked or cancelled. */
  readonly errors: bigint;
  readonly spend: Credits;
  /** Of texts. */
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
  /** Of charged requests; undefined without any. */
  readonly latency: Quantiles | undefined;
  /** Of streams of text; undefined without any. */
  readonly firstToken: Quantiles | undefined;
}

export interface ActivityQuery extends Omit<ActivityFilter, "bucket" | "from" | "until"> {
  readonly span: Span;
}

export interface GroupFigures extends Figures {
  /** Undefined for the groups beyond the largest, together. */
  readonly group: string | undefined;
  /** Name of a key; otherwise as the group. */
  readonly label: string;
}

export interface BucketFigures extends Figures {
  readonly begin: number;
}

export interface Activity {
  readonly total: Figures;
  /** Most spent first, then by requests and name; the groups beyond the largest are the last. */
  readonly groups: readonly GroupFigures[];
  /** Without rows for buckets without a request; oldest first, then in the order of the groups. */
  readonly rows: readonly (BucketFigures & { readonly group: string | undefined })[];
  /** Sums of all groups, of the buckets with a request, oldest first. */
  readonly buckets: readonly BucketFigures[];
}

export interface ReadActivityDeps {
  readonly store: Pick<ActivityStore, "sum">;
  readonly accounts: Pick<AccountStore, "readCredits">;
  /** Applies committed steps to the sums. */
  readonly follow: () => Promise<void>;
}

export type ReadActivity = (query: ActivityQuery) => Promise<Activity>;

/**
 * @returns a reader that throws ServiceError invalid_value with param `key` for a key of another account,
 * rate_limit_exceeded or service_unavailable if too many reads wait
 */
export function createReadActivity({ store, accounts, follow }: ReadActivityDeps): ReadActivity {
  const gate = new FairGate(GATE);
  const namesOf = async (accountId: string, ids: readonly string[]): Promise<Map<string, string>> => {
    const names = new Map<string, string>();
    const page = { limit: MOST_NAMES, after: undefined, only: ids.slice(0, MOST_NAMES) };
    const { usage } = await accounts.readCredits(accountId, page);
    for (const { definition } of usage) names.set(definition.id, definition.name);
    return names;
  };
  const readNow: ReadActivity = async ({ span, ...query }) => {
    const { accountId, group, spenderId } = query;
    if (spenderId !== undefined && spenderId !== accountId) {
      const names = await namesOf(accountId, [spenderId]);
      if (!names.has(spenderId)) throw invalid("key", "The account has no key with this id");
    }
    await follow();
    const filter = { ...query, bucket: span.bucket, from: span.begins[0] ?? 0, until: span.end };
    const all = merged(await store.sum(filter));
    const ranked = all.toSorted(mostFirst);
    const shown = ranked.slice(0, MOST_GROUPS).map((row) => row.group ?? "");
    const order = new Map<string | undefined, number>(shown.map((name, rank) => [name, rank]));
    const rankOf = ({ group: name }: ActivityRow) => order.get(name) ?? MOST_GROUPS;
    const rows = merged(await store.sum(filter, shown))
      .filter(({ begin }) => begin !== undefined)
      .toSorted((one, other) => (one.begin ?? 0) - (other.begin ?? 0) || rankOf(one) - rankOf(other));
    const names = group === "key" && shown.length > 0 ? await namesOf(accountId, shown) : undefined;
    const others = ranked.slice(MOST_GROUPS);
    const named = ranked.slice(0, MOST_GROUPS).map((row) => {
      const name = row.group ?? "";
      return { group: name, label: names?.get(name) ?? (name || "unknown"), ...figuresOf(row) };
    });
    const rest = { group: undefined, label: `${others.length} other`, ...figuresOf(sumOf(others)) };
    return {
      total: figuresOf(sumOf(all)),
      groups: others.length === 0 ? named : [...named, rest],
      rows: rows.map((row) => ({ ...figuresOf(row), begin: row.begin ?? 0, group: row.group })),
      buckets: [...Map.groupBy(rows, ({ begin = 0 }) => begin)].map(([begin, all]) => {
        return { begin, ...figuresOf(sumOf(all)) };
      }),
    };
  };
  return (query) => gate.run({ owner: query.accountId }, () => readNow(query));
}

const NOTHING: ActivityRow = {
  ...{ begin: undefined, group: undefined },
  ...{ requests: 0n, errors: 0n, charge: 0n, inputTokens: 0n, outputTokens: 0n },
  ...{ latency: NO_DURATIONS, firstToken: NO_DURATIONS },
};

/** Sums of steps and of lines, of the same bucket and group in one row. */
function merged({ steps, texts }: Awaited<ReturnType<ActivityStore["sum"]>>): ActivityRow[] {
  const found = new Map<string, ActivityRow>();
  const keyOf = ({ begin, group }: Pick<ActivityRow, "begin" | "group">) => JSON.stringify([begin, group]);
  for (const row of steps) found.set(keyOf(row), { ...NOTHING, ...row });
  for (const row of texts) found.set(keyOf(row), { ...NOTHING, ...found.get(keyOf(row)), ...row });
  return [...found.values()];
}

function sumOf(rows: readonly ActivityRow[]): ActivityRow {
  return rows.reduce(
    (sum, row) => ({
      ...NOTHING,
      requests: sum.requests + row.requests,
      errors: sum.errors + row.errors,
      charge: sum.charge + row.charge,
      inputTokens: sum.inputTokens + row.inputTokens,
      outputTokens: sum.outputTokens + row.outputTokens,
      latency: addHistograms(sum.latency, row.latency),
      firstToken: addHistograms(sum.firstToken, row.firstToken),
    }),
    NOTHING,
  );
}

function mostFirst(one: ActivityRow, other: ActivityRow): number {
  const by = other.charge - one.charge || other.requests - one.requests;
  return by === 0n ? ((one.group ?? "") < (other.group ?? "") ? -1 : 1) : by > 0n ? 1 : -1;
}

function figuresOf({ requests, errors, charge, inputTokens, outputTokens, ...times }: ActivityRow): Figures {
  const { latency, firstToken } = times;
  return {
    ...{ requests, errors, spend: charge, inputTokens, outputTokens },
    ...{ latency: quantilesOf(latency), firstToken: quantilesOf(firstToken) },
  };
}

function quantilesOf(histogram: ActivityRow["latency"]): Quantiles | undefined {
  const medianMs = quantileOf(histogram, 0.5);
  const p95Ms = quantileOf(histogram, 0.95);
  return medianMs === undefined || p95Ms === undefined ? undefined : { medianMs, p95Ms };
}
