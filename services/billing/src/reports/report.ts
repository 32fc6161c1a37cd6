// Report owns the shape of the reports about money: the statement of an account in pages, and sums of usage and costs.
import type { Credits, PicoUsd } from "@gr/money";
import type { Page } from "@gr/runtime";

export type EntryKind = "deposit" | "refund" | "adjustment" | "charge";

/** A change of an account's credit. */
export interface Entry {
  readonly id: bigint;
  readonly kind: EntryKind;
  readonly at: Date;
  /** Below zero if the credit fell. */
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
