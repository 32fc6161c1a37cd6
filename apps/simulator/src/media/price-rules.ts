// Price rules of media in the terms of price lists: per picture, by area, by length. Each rule
// returns the price of one result.
import type { PicoUsd } from "../bill/prices.ts";
import type { MediaSize } from "./media-order.ts";

/** Facts that a price can depend on. */
export interface Priced {
  readonly size: MediaSize;
  /** Length of a video, in seconds. */
  readonly seconds: number;
  /** Quality level in the model's own words. */
  readonly quality: string;
}

export type PriceRule = (asked: Priced) => PicoUsd;

const PICO_DIGITS = 12;
const MEGAPIXEL = 1_048_576;

/** Reads a price of a list, "0.03", digit by digit. */
export function usd(text: string): PicoUsd {
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(PICO_DIGITS, "0"));
}

/** A flat price per picture or video. */
export function each(price: string): PriceRule {
  const amount = usd(price);
  return () => amount;
}

/** Price of the first megapixel, and of each further started one. */
export function byArea(first: string, further: string): PriceRule {
  const [start, step] = [usd(first), usd(further)];
  return ({ size }) => {
    const megapixels = Math.max(1, Math.ceil((size.width * size.height) / MEGAPIXEL));
    return start + step * BigInt(megapixels - 1);
  };
}

/** Price of the first tier with a limit of at least the picture's pixels; the last tier has no limit. */
export function byPixels(...tiers: readonly (readonly [most: number, price: string])[]): PriceRule {
  const rows = tiers.map(([most, price]) => [most, usd(price)] as const);
  return ({ size }) => {
    const pixels = size.width * size.height;
    return rows.find(([most]) => pixels <= most)?.[1] ?? rows.at(-1)?.[1] ?? 0n;
  };
}

export function byLevel(prices: Readonly<Record<string, string>>): PriceRule {
  return ({ quality }) => usd(prices[quality] ?? "0");
}

/** Price per second of a video, which may depend on its size. */
export function bySecond(price: PriceRule): PriceRule {
  return (asked) => price(asked) * BigInt(asked.seconds);
}
