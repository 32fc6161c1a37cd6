// How providers price media, as their price lists say it: per picture, by area, by length. Each rule gives the price of one.
import type { PicoUsd } from "../bill/prices.ts";
import type { MediaSize } from "./media-order.ts";

/** What a price can go by. */
export interface Priced {
  readonly size: MediaSize;
  /** Of a video. */
  readonly seconds: number;
  /** What a model calls its levels. */
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

/** The same for each, whatever is asked for. */
export function each(price: string): PriceRule {
  const amount = usd(price);
  return () => amount;
}

/** For the first megapixel, and for each further one that is begun. */
export function byArea(first: string, further: string): PriceRule {
  const [start, step] = [usd(first), usd(further)];
  return ({ size }) => {
    const megapixels = Math.max(1, Math.ceil((size.width * size.height) / MEGAPIXEL));
    return start + step * BigInt(megapixels - 1);
  };
}

/** The first tier that has at least so many pixels; the last has any number. */
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

/** Per second of a video, whose price may go by its size. */
export function bySecond(price: PriceRule): PriceRule {
  return (asked) => price(asked) * BigInt(asked.seconds);
}
