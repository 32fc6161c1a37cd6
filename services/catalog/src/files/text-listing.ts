// TextListing reads an upstream's answer to GET /models. A row without an exact price, or with output other than text,
// is skipped and counted. A body that is no listing is an error, so that it never counts as an empty catalogue.
import type { SkipReason, TextModel, UpstreamKind } from "@gr/text-upstream";
import { z } from "zod";
import { isOnSale } from "../offer/shutdown.ts";
import { MODEL_ID, MOST_ID_CHARACTERS } from "./model-name.ts";
import type { TextPriceList } from "./text-price-list.ts";

/** A listing with more rows is not read. */
const MOST_ROWS = 5_000;

export interface Listing {
  readonly models: readonly TextModel[];
  readonly skipped: Readonly<Record<SkipReason, number>>;
}

/** The upstream's answer cannot be used; the message is for the operator. */
export class UnusableListing extends Error {
  override readonly name = "UnusableListing";
}

type RowReader = (row: unknown) => TextModel | SkipReason;

/** Format of the rows. */
export interface ListingFormat {
  readonly kind: UpstreamKind;
  /** If the upstream lists no prices, only the models of this price list are imported. */
  readonly priceList: TextPriceList;
}

/** @param today ISO date; models that are shut down by then count as skipped. @throws UnusableListing */
export function readListing(format: ListingFormat, body: unknown, today: string): Listing {
  const shape = z.object({ data: z.array(z.unknown()).max(MOST_ROWS) }).safeParse(body);
  if (!shape.success) {
    throw new UnusableListing(`it is not an object with a list "data" of at most ${MOST_ROWS} models`);
  }
  const read = rowReaderOf(format);
  const models = new Map<string, TextModel>();
  const skipped: Record<SkipReason, number> = {
    malformed: 0,
    not_text: 0,
    no_price: 0,
    expired: 0,
    repeated: 0,
  };
  for (const row of shape.data.data) {
    const outcome = read(row);
    if (typeof outcome === "string") skipped[outcome] += 1;
    else if (!isModelId(outcome.id)) skipped.malformed += 1;
    else if (!isOnSale(outcome.shutdownDate, today)) skipped.expired += 1;
    else if (models.has(outcome.id)) skipped.repeated += 1;
    else models.set(outcome.id, outcome);
  }
  return { models: [...models.values()], skipped };
}

function isModelId(id: string): boolean {
  return id.length <= MOST_ID_CHARACTERS && MODEL_ID.test(id);
}

function rowReaderOf({ kind: { listing }, priceList }: ListingFormat): RowReader {
  if (listing.prices === "listed") return listing.readRow;
  return (row) => {
    const name = listing.readRow(row);
    if (typeof name === "string") return name;
    const priced = priceList.get(name.id);
    return priced === undefined
      ? "no_price"
      : { ...priced, releaseDate: priced.releaseDate ?? name.releaseDate };
  };
}
