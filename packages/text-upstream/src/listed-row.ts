// Row parts parse the fields that the model lists of all kinds of upstreams share. An unusable value counts as unknown.
import { type PicoUsd, parsePicoUsd } from "@gr/money";
import { z } from "zod";
import { withoutUnshown } from "./shown-name.ts";

const MOST_NAME_CHARACTERS = 200;

// A price is read digit by digit from its text; a JSON number, from its shortest decimal form.
const rawPrice = z.union([z.string(), z.number()]);
export const rowId = z.string().min(1);
export const rowName = z.string().nullish().catch(undefined);
export const rowTokens = z.int().positive().nullish().catch(undefined);
export const rowWords = z
  .array(z.unknown())
  .catch([])
  .transform((list) => list.filter(isWord).slice(0, 100));
export const unixSeconds = z.int().positive().max(4_102_444_800).nullish().catch(undefined);

/** Returns undefined for a missing, negative ("-1" means "it depends"), non-numeric or absurd price. */
export function priceOf(value: unknown): PicoUsd | undefined {
  const raw = rawPrice.safeParse(value);
  return raw.success ? parsePicoUsd(raw.data) : undefined;
}

/**
 * Returns the price of a meter that is a part of another one. Listings write "0" if the part has no price of its own.
 * So zero counts as absent; otherwise tokens of a paid whole would stay unbilled.
 */
export function extraPrice(value: unknown): PicoUsd | null {
  const price = priceOf(value);
  return price === undefined || price === 0n ? null : price;
}

/** Returns a name that can be stored and shown: no invisible characters, no half characters, bounded length. */
export function nameOf(name: string | null | undefined, otherwise: string): string {
  const clean = withoutUnshown((name ?? "").toWellFormed())
    .trim()
    .slice(0, MOST_NAME_CHARACTERS);
  return clean === "" ? otherwise : clean.toWellFormed();
}

export function vendorOf(id: string): string {
  return id.split("/", 1)[0] ?? id;
}

export function dayOf(seconds: number | null | undefined): string | null {
  return seconds == null ? null : new Date(seconds * 1000).toISOString().slice(0, 10);
}

export function dateIn(text: string | null | undefined): string | null {
  const day = z.iso.date().safeParse(text?.slice(0, 10));
  return day.success ? day.data : null;
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && /^[\w.:/-]{1,64}$/.test(value);
}
