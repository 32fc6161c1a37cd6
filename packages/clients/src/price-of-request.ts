// Request prices explain a charge: the units of the price function and their prices, then the reasons for any
// difference. Lines and adjustments add up to the charge, to the last digit.

import {
  type ImageMeters,
  isExact,
  linesOfRequest,
  linesOfTokens,
  type PriceLines,
  sumOf,
  type TokenMeters,
  tokenPriceAt,
  type VideoMeters,
  withOwnPrice,
} from "@gr/models";
import { type Credits, formatCredits, formatPicoUsd, PICO_PER_CREDIT, type PicoUsd } from "@gr/money";
import { HoldState, type Text, type TextUsage } from "@gr/proto/billing";
import type { Price } from "@gr/proto/catalog";
import { type Generation, GenerationKind, GenerationStatus } from "@gr/proto/media";
import type { AdjustmentReason, RequestPrice } from "@gr/request-record";

/** @param price of its version; undefined if it no longer exists. @returns null while it runs */
export function priceOfText(text: Text, price: Price | undefined): RequestPrice | null {
  const { state, chargedCredits: charge, costPicoUsd: cost, priceVersion, provider } = text;
  if (state === HoldState.OPEN) return null;
  if (state !== HoldState.CAPTURED) return free(priceVersion);
  const { rule } = price ?? {};
  const usage = text.line?.usage;
  const known =
    rule?.case === "token" && usage !== undefined
      ? linesOfUsage(tokenPriceAt(rule.value, provider), metersOf(usage))
      : undefined;
  const difference = cost - (known === undefined ? 0n : sumOf(known));
  const unlisted = picoOf(charge) - cost;
  return explained(priceVersion, known ?? [], charge, [
    [known === undefined ? "provider_billed" : "billed_otherwise", difference],
    [unlisted < 0n ? "not_charged" : isRounding(unlisted) ? "rounded_up" : "earlier_providers", unlisted],
  ]);
}

/** Returns the price as for a text request. */
export function priceOfGeneration(generation: Generation, price: Price | undefined): RequestPrice | null {
  const { status, chargedCredits: charge, priceVersion, pricePicoUsd: listed } = generation;
  if (status === GenerationStatus.RUNNING || charge === undefined) return null;
  if (status !== GenerationStatus.SUCCEEDED) return free(priceVersion);
  const lines = price === undefined ? undefined : linesOfRequest(price, metersOfMedia(generation));
  if (lines === undefined || sumOf(lines) !== listed) {
    const reason = price === undefined || isExact(price) ? "units_unknown" : "by_report";
    return explained(priceVersion, [], charge, [[reason, picoOf(charge)]]);
  }
  const unlisted = picoOf(charge) - listed;
  return explained(priceVersion, lines, charge, [[unlisted < 0n ? "not_delivered" : "rounded_up", unlisted]]);
}

const picoOf = (credits: Credits): PicoUsd => credits * PICO_PER_CREDIT;
const isRounding = (unlisted: PicoUsd) => unlisted < PICO_PER_CREDIT;

const free = (priceVersion: string) => explained(priceVersion, [], 0n, []);

function explained(
  priceVersion: string,
  lines: PriceLines,
  charge: Credits,
  adjustments: readonly (readonly [AdjustmentReason, PicoUsd])[],
): RequestPrice {
  return {
    price_version: priceVersion,
    lines: lines.map(({ unit, count, picoUsd }) => ({
      ...{ unit, count: String(count) },
      unit_price: formatPicoUsd(picoUsd),
      amount: formatPicoUsd(count * picoUsd),
    })),
    adjustments: adjustments
      .filter(([, amount]) => amount !== 0n)
      .map(([reason, amount]) => ({ reason, amount: formatPicoUsd(amount) })),
    charged: formatCredits(charge),
  };
}

function linesOfUsage(price: Parameters<typeof linesOfTokens>[0], meters: TokenMeters): PriceLines {
  return linesOfTokens(price, withOwnPrice(meters, price));
}

function metersOf(usage: TextUsage): TokenMeters {
  const calls = Object.entries(usage.toolCalls).map(([call, count]) => [call, Number(count)]);
  return {
    inputTokens: Number(usage.inputTokens),
    outputTokens: Number(usage.outputTokens),
    cachedInputTokens: Number(usage.cachedInputTokens),
    cacheWriteTokens: Number(usage.cacheWriteTokens),
    longCacheWriteTokens: Number(usage.longCacheWriteTokens),
    tier: usage.tier,
    imageInputTokens: Number(usage.imageInputTokens),
    audioInputTokens: Number(usage.audioInputTokens),
    reasoningTokens: Number(usage.reasoningTokens),
    imageOutputTokens: Number(usage.imageOutputTokens),
    audioOutputTokens: Number(usage.audioOutputTokens),
    toolCalls: Object.fromEntries(calls),
  };
}

/** Returns the meters from which media generation computed the price. */
function metersOfMedia({ kind, parameters, inputPixels }: Generation): ImageMeters | VideoMeters {
  const { size = "auto", quality = "auto", seconds = 0, audio = false, count = 1 } = parameters ?? {};
  const { partialImages = 0 } = parameters ?? {};
  const inputs =
    inputPixels.length === 0
      ? {}
      : { inputImages: inputPixels.length, inputPixels: inputPixels.map((pixels) => Number(pixels)) };
  const asked = { size, quality, ...inputs };
  return kind === GenerationKind.VIDEO
    ? { ...asked, seconds, audio }
    : { ...asked, images: count, partialImages };
}
