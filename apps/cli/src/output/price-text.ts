// Price text is a price rule in a few words, for lists. The catalogue has the exact rule.
import { formatPicoUsd, type PicoUsd } from "@gr/money";
import type { Price, TokenPrice } from "@gr/proto/catalog";

const MILLION = 1_000_000n;

export function priceText(price: Price | undefined): string {
  const rule = price?.rule;
  switch (rule?.case) {
    case "image":
      return `${cheapest(rule.value.tiers)} USD an image`;
    case "megapixel":
      return `from ${formatPicoUsd(rule.value.firstPicoUsd)} USD an image, by area`;
    case "second":
      return `${cheapest(rule.value.tiers)} USD a second`;
    case "clip":
      return `${cheapest(rule.value.tiers)} USD a video`;
    case "metered":
      return `${perMillion(rule.value.tokens?.inputPicoUsd ?? 0n)} / ${perMillion(outputOf(rule.value.tokens))} USD a million tokens in / out`;
    case "reported":
      return `as billed, at most ${priceText(rule.value.most)}`;
    case "token": {
      const { inputPicoUsd, outputPicoUsd } = rule.value;
      return `${perMillion(inputPicoUsd)} / ${perMillion(outputPicoUsd)} USD a million tokens in / out`;
    }
    default:
      return "no price";
  }
}

/** Returns the price of output tokens. */
function outputOf(tokens: TokenPrice | undefined): PicoUsd {
  return tokens?.imageOutputPicoUsd ?? tokens?.outputPicoUsd ?? 0n;
}

function cheapest(tiers: readonly { picoUsd: PicoUsd }[]): string {
  const prices = tiers.map(({ picoUsd }) => picoUsd).sort((a, b) => (a < b ? -1 : 1));
  const [lowest] = prices;
  if (lowest === undefined) return "?";
  return `${lowest === prices.at(-1) ? "" : "from "}${formatPicoUsd(lowest)}`;
}

function perMillion(picoUsd: PicoUsd): string {
  return formatPicoUsd(picoUsd * MILLION);
}
