// Text models as upstreams list them, read and checked: exact prices, verified limits. Missing facts are null.
import type { PicoUsd } from "@gr/money";

/** USD per token, in units of 1e-12. Null = billed as input or output. */
export interface TextPrices extends TextRates {
  /** Rates of service tiers and of long inputs. */
  readonly cases?: readonly TextPriceCase[];
  /** Rates of some hours. */
  readonly offPeak?: readonly OffPeakRates[];
}

/** Hours of a day in UTC, in minutes after midnight. */
export interface DailyHours {
  /** From 1 (Monday) to 7 (Sunday); none = every day. */
  readonly weekdays: readonly number[];
  readonly fromMinute: number;
  readonly toMinute: number;
}

export interface OffPeakRates {
  readonly hours: readonly DailyHours[];
  readonly rates: TextRates;
}

export interface TextPriceCase {
  /** Empty = the standard tier. */
  readonly tier: string;
  /** The rates are those of requests with more input tokens; 0 = of all. */
  readonly aboveInputTokens: number;
  readonly rates: TextRates;
}

export interface TextRates {
  readonly input: PicoUsd;
  readonly output: PicoUsd;
  readonly cachedInput: PicoUsd | null;
  readonly cacheWrite: PicoUsd | null;
  /** Kept for longer than usual. Absent or null = without a price. */
  readonly longCacheWrite?: PicoUsd | null;
  readonly imageInput: PicoUsd | null;
  readonly audioInput: PicoUsd | null;
  readonly reasoning: PicoUsd | null;
  readonly imageOutput: PicoUsd | null;
  readonly audioOutput: PicoUsd | null;
  /** Per request. */
  readonly request: PicoUsd;
  /** Per call of a tool that the provider runs, by the type that the call has in the output. */
  readonly tools: Readonly<Record<string, PicoUsd>>;
}

export interface TextModel {
  /** Our id, and the upstream's unless another source names it. */
  readonly id: string;
  readonly name: string;
  readonly ownedBy: string;
  readonly capabilities: readonly string[];
  readonly supportedParameters: readonly string[];
  /** Tokens; null = unknown. */
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  /** ISO dates; null = unknown. */
  readonly releaseDate: string | null;
  readonly shutdownDate: string | null;
  readonly prices: TextPrices;
}
