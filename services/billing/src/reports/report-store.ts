// Statements for whoever shows an account its money: the journal in pages, and sums of usage. Each reads no more rows than
// its page or its days have, by an index that begins with the account.
import type { Credits, PicoUsd } from "@gr/money";
import { type Page, type Pool, pageOf } from "@gr/runtime";

const DAY_MS = 86_400_000;

export type EntryKind = "deposit" | "refund" | "adjustment" | "charge";

/** A change of an account's credit. */
export interface Entry {
  readonly id: bigint;
  readonly kind: EntryKind;
  readonly at: Date;
  /** Above zero gave credit, below zero took it. */
  readonly credits: Credits;
  /** Null, as model and spender are, for all but charges. */
  readonly holdId: string | null;
  readonly model: string | null;
  readonly spenderId: string | null;
  readonly source: string | null;
  readonly reason: string | null;
  /** Of the deposit or the adjustment; null for a charge. */
  readonly bookingId: string | null;
}

export interface EntryFilter extends Omit<Page, "after"> {
  readonly accountId: string;
  readonly kind: EntryKind | undefined;
  readonly from: Date | undefined;
  readonly until: Date | undefined;
  readonly after: bigint | undefined;
}

export type UsageGroup = "day" | "spender" | "model" | "provider";

export interface UsageFilter {
  readonly accountId: string;
  readonly group: UsageGroup;
  readonly perDay: boolean;
  /** YYYY-MM-DD, both included. */
  readonly fromDay: string;
  readonly toDay: string;
  readonly spenderId: string | undefined;
  readonly model: string | undefined;
  readonly limit: number;
}

export interface UsageSum {
  readonly group: string;
  /** Empty unless asked for by day. */
  readonly day: string;
  readonly requests: bigint;
  readonly credits: Credits;
}

export interface UsageSums {
  readonly sums: readonly UsageSum[];
  readonly hasMore: boolean;
  /** Of all sums, also of those beyond the limit. */
  readonly requests: bigint;
  readonly credits: Credits;
}

/** Days as YYYY-MM-DD in UTC, both included. */
export interface CostFilter {
  readonly fromDay: string;
  readonly toDay: string;
  readonly providers: readonly string[];
  readonly limit: number;
}

/** Cost of one UTC day, provider and upstream model, of all accounts. */
export interface CostSum {
  readonly day: string;
  readonly provider: string;
  /** Empty for an attempt that another one followed: a hold keeps the name of its last attempt only. */
  readonly upstreamModel: string;
  readonly cost: PicoUsd;
  readonly entries: bigint;
  readonly charged: Credits;
  /** Part of the cost that failed requests and late bills caused. */
  readonly lost: PicoUsd;
}

export interface ReportStore {
  /** Newest first. */
  listEntries(filter: EntryFilter): Promise<{ entries: readonly Entry[]; hasMore: boolean }>;
  sumUsage(filter: UsageFilter): Promise<UsageSums>;
  /** By spender; a spender without a charge is absent. */
  lastUsedDays(accountId: string, spenderIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Ordered by day, provider and model. */
  sumCosts(filter: CostFilter): Promise<readonly CostSum[]>;
}

/**
 * The page is cut before holds, deposits and adjustments are looked up. Its kinds are spelt out as the index has them.
 * Entries of an account are written under its lock, so the order of ids is that of time.
 */
export const LIST_ENTRIES = `SELECT e.id, e.kind, e.at, e.hold_id, h.model, h.spender_id, d.source, a.reason,
    coalesce(e.deposit_id, e.adjustment_id) AS booking_id,
    CASE WHEN e.kind IN ('charge', 'refund') THEN -e.credits ELSE e.credits END AS credits
  FROM (
    SELECT * FROM entry
     WHERE account_id = $1 AND kind IN ('deposit', 'refund', 'adjustment', 'charge')
       AND ($2::entry_kind IS NULL OR kind = $2) AND ($3::timestamptz IS NULL OR at >= $3)
       AND ($4::timestamptz IS NULL OR at < $4) AND ($5::bigint IS NULL OR id < $5)
     ORDER BY id DESC LIMIT $6
  ) e
  LEFT JOIN hold h ON h.id = e.hold_id
  LEFT JOIN deposit d ON d.id = e.deposit_id
  LEFT JOIN adjustment a ON a.id = e.adjustment_id
  ORDER BY e.id DESC`;

const GROUPS: Readonly<Record<UsageGroup, string>> = {
  day: "to_char(day, 'YYYY-MM-DD')",
  spender: "spender_id::text",
  model: "model",
  provider: "provider",
};

/** Sums of sums: the last row of all, which no other hides, is the total. */
export const sumUsageBy = (group: UsageGroup, perDay: boolean): string => {
  const byDay = perDay || group === "day";
  return `WITH sums AS (
      SELECT ${GROUPS[group]} AS name, ${perDay ? GROUPS.day : "''"} AS day,
             sum(requests)::bigint AS requests, sum(charge)::bigint AS credits
        FROM usage_daily
       WHERE account_id = $1 AND day BETWEEN $2::date AND $3::date
         AND ($4::uuid IS NULL OR spender_id = $4) AND ($5::text IS NULL OR model = $5)
       GROUP BY 1, 2
    )
    SELECT false AS is_total, s.* FROM (
      SELECT * FROM sums ORDER BY ${byDay ? "day, name" : "credits DESC, name"} LIMIT $6
    ) s
    UNION ALL
    SELECT true, '', '', coalesce(sum(requests), 0)::bigint, coalesce(sum(credits), 0)::bigint FROM sums`;
};

const LAST_USED = `SELECT s.id, u.day FROM unnest($1::uuid[]) s (id)
  CROSS JOIN LATERAL (SELECT ${GROUPS.day} AS day FROM usage_daily WHERE spender_id = s.id ORDER BY usage_daily.day DESC LIMIT 1) u`;

/** The range of days is compared as instants, so that the BRIN index of entry.at excludes older blocks. */
export const SUM_COSTS = `SELECT to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, e.provider,
    CASE WHEN e.attempt = h.attempt THEN h.upstream_model ELSE '' END AS "upstreamModel",
    sum(e.cost)::text AS cost, count(*) AS entries,
    coalesce(sum(e.credits) FILTER (WHERE e.kind = 'charge'), 0)::bigint AS charged,
    coalesce(sum(e.cost) FILTER (WHERE e.kind <> 'charge'), 0)::text AS lost
  FROM entry e LEFT JOIN hold h ON h.id = e.hold_id
 WHERE e.at >= $1::timestamptz AND e.at < $2::timestamptz AND e.kind IN ('charge', 'failed', 'late')
   AND e.provider = ANY ($3::text[])
 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT $4`;

interface EntryRow {
  id: bigint;
  kind: EntryKind;
  at: Date;
  credits: bigint;
  hold_id: string | null;
  model: string | null;
  spender_id: string | null;
  source: string | null;
  reason: string | null;
  booking_id: string | null;
}

interface UsageRow {
  is_total: boolean;
  name: string;
  day: string;
  requests: bigint;
  credits: bigint;
}

export function createReportStore(pool: Pool): ReportStore {
  return {
    listEntries: async ({ accountId, kind, from, until, after, limit }) => {
      const values = [accountId, kind ?? null, from ?? null, until ?? null, after ?? null, limit + 1];
      const { rows } = await pool.query<EntryRow>(LIST_ENTRIES, values);
      return pageOf(rows.map(entryOf), limit);
    },
    sumUsage: async ({ accountId, group, perDay, fromDay, toDay, spenderId, model, limit }) => {
      const values = [accountId, fromDay, toDay, spenderId ?? null, model ?? null, limit + 1];
      const { rows } = await pool.query<UsageRow>(sumUsageBy(group, perDay), values);
      const total = rows.find(({ is_total: isTotal }) => isTotal);
      const sums = rows.flatMap(({ is_total: isTotal, name, ...sum }) =>
        isTotal ? [] : [{ group: name, ...sum }],
      );
      const { entries, hasMore } = pageOf(sums, limit);
      return { sums: entries, hasMore, requests: total?.requests ?? 0n, credits: total?.credits ?? 0n };
    },
    lastUsedDays: async (_accountId, spenderIds) => {
      const { rows } = await pool.query<{ id: string; day: string }>(LAST_USED, [spenderIds]);
      return new Map(rows.map(({ id, day }) => [id, day]));
    },
    sumCosts: async ({ fromDay, toDay, providers, limit }) => {
      const until = new Date(Date.parse(`${toDay}T00:00:00Z`) + DAY_MS);
      const values = [new Date(`${fromDay}T00:00:00Z`), until, providers, limit];
      const { rows } = await pool.query<Omit<CostSum, "cost" | "lost"> & { cost: string; lost: string }>(
        SUM_COSTS,
        values,
      );
      return rows.map(({ cost, lost, ...sum }) => ({ ...sum, cost: BigInt(cost), lost: BigInt(lost) }));
    },
  };
}

function entryOf({ hold_id: holdId, spender_id: spenderId, booking_id: bookingId, ...row }: EntryRow): Entry {
  return { ...row, holdId, spenderId, bookingId };
}
