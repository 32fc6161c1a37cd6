// What differs between the kinds of text upstreams. Each kind is one object, and nothing else asks of which kind an upstream
// is: where it is, how its list of models is read, whether a usage says what it bills, and whether it can be asked afterwards.
import type { PicoUsd } from "@gr/money";
import type { TextModel } from "./text-model.ts";

export const KIND_NAMES = ["openrouter", "vercel", "openai", "openai-compatible"] as const;
export type KindName = (typeof KIND_NAMES)[number];

export type JsonObject = { readonly [name: string]: unknown };

export interface UpstreamKind {
  readonly name: KindName;
  /** Where it is when no address is set; undefined = nowhere in particular. */
  readonly publicAddress: string | undefined;
  /** Where its models' prices are from, unless the operator says otherwise. */
  readonly prices: "listed" | "price-list" | "catalogue";
  readonly listing: Listing;
  /** Where a request says how many tokens its output may have. */
  readonly limitFields: { readonly chat: string; readonly responses: string };
  /** Whether its answers say what it bills. Where they do not, our price list computes the cost. */
  readonly reportsCost: boolean;
  /**
   * What it bills, as a usage of its says.
   * @param amount reads the amount at a path of members of the usage, exactly
   * @returns undefined when it does not say: then tokens times prices is the cost
   */
  reportedCost(usage: JsonObject, amount: AmountReader): ReportedCost | undefined;
  /**
   * Calls of tools that it ran and may charge for, by their type in the output. Nobody has checked that the counts are counts.
   * @param answer the object that has the usage
   */
  toolCalls(usage: JsonObject, answer: JsonObject): Readonly<Record<string, unknown>>;
  /** How it is asked about a generation; undefined where it cannot be asked. */
  readonly generations: GenerationQuery | undefined;
}

/** Undefined when there is no such member, or when it is no amount. */
export type AmountReader = (...path: readonly [string, ...string[]]) => PicoUsd | undefined;

export interface ReportedCost {
  readonly cost: PicoUsd;
  /** Whether `usage.cost` says just that. */
  readonly isUsageCost: boolean;
}

/** How the rows of `GET /models` are read. */
export type Listing =
  /** They say what each model costs. */
  | { readonly prices: "listed"; readRow(row: unknown): TextModel | SkipReason }
  /** They have names and little more; what the models cost, we say. */
  | { readonly prices: "ours"; readRow(row: unknown): ListedName | SkipReason };

export type SkipReason = "malformed" | "not_text" | "no_price" | "expired" | "repeated";

export interface ListedName {
  readonly id: string;
  /** ISO date; null = unknown. */
  readonly releaseDate: string | null;
}

export interface GenerationQuery {
  /** Below the base URL. @param id the upstream's own when it is known, else the request id that was sent along */
  path(id: string): string;
  /** @param data the object of this name in its answer. @param amount reads within it */
  read(data: JsonObject, amount: AmountReader): GenerationSaid | undefined;
}

/** Nobody has checked that the counts are counts. */
export interface GenerationSaid {
  readonly cost: PicoUsd;
  readonly inputTokens: unknown;
  readonly outputTokens: unknown;
}
