// Upstream kinds own the differences between text upstreams. Each kind is one object, and no other code branches on the
// kind. A kind has an address, a reader of its model list, a reader of its bill, and perhaps look-ups.
import type { PicoUsd } from "@gr/money";
import type { TextModel } from "./text-model.ts";

export const KIND_NAMES = ["openrouter", "vercel", "openai", "openai-compatible"] as const;
export type KindName = (typeof KIND_NAMES)[number];

export type JsonObject = { readonly [name: string]: unknown };

export interface UpstreamKind {
  readonly name: KindName;
  /** Address if no setting names one; undefined = no public address. */
  readonly publicAddress: string | undefined;
  /** Source of its models' prices, unless the operator sets another. */
  readonly prices: "listed" | "price-list" | "catalogue";
  readonly listing: Listing;
  /** Names of the request field that limits the output tokens. */
  readonly limitFields: { readonly chat: string; readonly responses: string };
  /** True if its answers report the bill. Otherwise our price list computes the cost. */
  readonly reportsCost: boolean;
  /**
   * Returns the bill that a usage reports.
   * @param amount reads the amount at a path of members of the usage, exactly
   * @returns undefined if the usage reports none: then tokens times prices is the cost
   */
  reportedCost(usage: JsonObject, amount: AmountReader): ReportedCost | undefined;
  /**
   * Returns the calls of tools that the upstream ran and may charge for, by their type in the output. The counts are
   * unchecked.
   * @param answer the object that has the usage
   */
  toolCalls(usage: JsonObject, answer: JsonObject): Readonly<Record<string, unknown>>;
  /** Look-up of a generation; undefined if the upstream offers none. */
  readonly generations: GenerationQuery | undefined;
}

/** Returns undefined if the member is absent or no amount. */
export type AmountReader = (...path: readonly [string, ...string[]]) => PicoUsd | undefined;

export interface ReportedCost {
  readonly cost: PicoUsd;
  /** True if `usage.cost` has the same amount. */
  readonly isUsageCost: boolean;
}

/** Reader of the rows of `GET /models`. */
export type Listing =
  /** Rows contain the price of each model. */
  | { readonly prices: "listed"; readRow(row: unknown): TextModel | SkipReason }
  /** Rows contain little more than names; our own lists have the prices. */
  | { readonly prices: "ours"; readRow(row: unknown): ListedName | SkipReason };

export type SkipReason = "malformed" | "not_text" | "no_price" | "expired" | "repeated";

export interface ListedName {
  readonly id: string;
  /** ISO date; null = unknown. */
  readonly releaseDate: string | null;
}

export interface GenerationQuery {
  /** Path below the base URL. @param id the upstream's own id if we have it, else the request id that was sent along */
  path(id: string): string;
  /** @param data the member of this name in its answer. @param amount reads within it */
  read(data: JsonObject, amount: AmountReader): GenerationReport | undefined;
}

/** Unchecked counts of a look-up. */
export interface GenerationReport {
  readonly cost: PicoUsd;
  readonly inputTokens: unknown;
  readonly outputTokens: unknown;
}
