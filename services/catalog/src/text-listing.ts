// Reads what an upstream answers to GET /models. A row that has no exact price, or makes anything but text, is left out and
// counted. A body that is no listing is an error, so that it never counts as an empty catalogue.
import { type PicoUsd, parsePicoUsd } from "@gr/money";
import type { TextUpstreamKind } from "@gr/text-upstream";
import { z } from "zod";
import { MODEL_ID, MOST_ID_CHARACTERS, MOST_NAME_CHARACTERS, withoutUnshown } from "./model-name.ts";
import { isOnSale } from "./shutdown.ts";
import type { TextModel } from "./text-model.ts";
import type { TextPriceList } from "./text-price-list.ts";

/** A listing with more rows is not read. */
const MOST_ROWS = 5_000;

export type SkipReason = "malformed" | "not_text" | "no_price" | "expired" | "repeated";

export interface Listing {
  readonly models: readonly TextModel[];
  readonly skipped: Readonly<Record<SkipReason, number>>;
}

/** The upstream's answer cannot be used; the message is for the operator. */
export class UnusableListing extends Error {
  override readonly name = "UnusableListing";
}

type RowReader = (row: unknown) => TextModel | SkipReason;

/** How the rows of each kind are read. */
export interface ListingFormat {
  readonly kind: TextUpstreamKind;
  /** Of a kind that lists no prices: only the models of this list are taken. */
  readonly priceList: TextPriceList;
}

/** @param today ISO date; what is shut down by then counts as left out. @throws UnusableListing */
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
    else if (!isOnSale(outcome.shutdownDate, today)) skipped.expired += 1;
    else if (models.has(outcome.id)) skipped.repeated += 1;
    else models.set(outcome.id, outcome);
  }
  return { models: [...models.values()], skipped };
}

function rowReaderOf({ kind, priceList }: ListingFormat): RowReader {
  switch (kind) {
    case "openrouter":
      return readOpenRouterRow;
    case "vercel":
      return readVercelRow;
    case "openai":
      return (row) => readOpenAiRow(row, priceList);
  }
}

// A price is read digit by digit from its text; a JSON number, from its shortest decimal form.
const rawPrice = z.union([z.string(), z.number()]);
const tokens = z.int().positive().nullish().catch(undefined);
const words = z
  .array(z.unknown())
  .catch([])
  .transform((list) => list.filter(isWord).slice(0, 100));
const rowName = z.string().nullish().catch(undefined);
const unixSeconds = z.int().positive().max(4_102_444_800).nullish().catch(undefined);
const rowId = z.string().regex(MODEL_ID).max(MOST_ID_CHARACTERS);

const openRouterRow = z.object({
  id: rowId,
  name: rowName,
  created: unixSeconds,
  context_length: tokens,
  architecture: z.object({ input_modalities: words, output_modalities: z.array(z.string()) }),
  pricing: z.record(z.string(), z.unknown()),
  top_provider: z
    .object({ context_length: tokens, max_completion_tokens: tokens })
    .nullish()
    .catch(undefined),
  supported_parameters: words,
  expiration_date: z.string().nullish().catch(undefined),
});

function readOpenRouterRow(row: unknown): TextModel | SkipReason {
  const result = openRouterRow.safeParse(row);
  if (!result.success) return "malformed";
  const { id, architecture, pricing, top_provider: provider, supported_parameters: parameters } = result.data;
  // A model that also makes images or audio costs more than its text tokens.
  if (!isTextOnly(architecture.output_modalities)) return "not_text";
  const input = priceOf(pricing["prompt"]);
  const output = priceOf(pricing["completion"]);
  const request = pricing["request"] == null ? 0n : priceOf(pricing["request"]);
  if (input === undefined || output === undefined || request === undefined) return "no_price";
  // Free tokens with a price for something else: the rule would say that nothing can cost anything.
  if (input + output === 0n && Object.values(pricing).some((each) => extraPrice(each) !== null))
    return "no_price";
  const extras = {
    cachedInput: extraPrice(pricing["input_cache_read"]),
    cacheWrite: extraPrice(pricing["input_cache_write"]),
    audioInput: extraPrice(pricing["audio"]),
    reasoning: extraPrice(pricing["internal_reasoning"]),
  };
  const inputs = architecture.input_modalities;
  return {
    id,
    name: nameOf(result.data.name, id),
    ownedBy: vendorOf(id),
    capabilities: [
      "chat",
      ...(inputs.includes("image") ? ["vision"] : []),
      ...(inputs.includes("audio") ? ["audio-input"] : []),
      ...(inputs.includes("file") ? ["file-input"] : []),
      ...(parameters.includes("tools") ? ["tools"] : []),
      ...(parameters.includes("reasoning") ? ["reasoning"] : []),
    ],
    supportedParameters: parameters,
    contextTokens: result.data.context_length ?? provider?.context_length ?? null,
    maxOutputTokens: provider?.max_completion_tokens ?? null,
    releaseDate: dayOf(result.data.created),
    shutdownDate: dateIn(result.data.expiration_date),
    prices: { input, output, request, ...extras },
  };
}

const openAiRow = z.object({ id: rowId, created: unixSeconds });

/** Such a row has an id and little more. The price list says what the model costs and can do. */
function readOpenAiRow(row: unknown, priceList: TextPriceList): TextModel | SkipReason {
  const result = openAiRow.safeParse(row);
  if (!result.success) return "malformed";
  const priced = priceList.get(result.data.id);
  if (priced === undefined) return "no_price";
  return { ...priced, releaseDate: priced.releaseDate ?? dayOf(result.data.created) };
}

const vercelRow = z.object({
  id: rowId,
  name: rowName,
  type: z.string(),
  owned_by: rowName,
  released: unixSeconds,
  context_window: tokens,
  max_tokens: tokens,
  tags: words,
  pricing: z.record(z.string(), z.unknown()).nullish(),
});

function readVercelRow(row: unknown): TextModel | SkipReason {
  const result = vercelRow.safeParse(row);
  if (!result.success) return "malformed";
  const { id, tags } = result.data;
  if (result.data.type !== "language" || tags.includes("image-generation")) return "not_text";
  const pricing = result.data.pricing ?? {};
  const input = priceOf(pricing["input"]);
  const output = priceOf(pricing["output"]);
  if (input === undefined || output === undefined) return "no_price";
  return {
    id,
    name: nameOf(result.data.name, id),
    ownedBy: nameOf(result.data.owned_by, vendorOf(id)),
    capabilities: [
      "chat",
      ...(tags.includes("vision") ? ["vision"] : []),
      ...(tags.includes("file-input") ? ["file-input"] : []),
      ...(tags.includes("tool-use") ? ["tools"] : []),
      ...(tags.includes("reasoning") ? ["reasoning"] : []),
    ],
    supportedParameters: [],
    contextTokens: result.data.context_window ?? null,
    maxOutputTokens: result.data.max_tokens ?? null,
    releaseDate: dayOf(result.data.released),
    shutdownDate: null,
    prices: {
      input,
      output,
      request: 0n,
      cachedInput: extraPrice(pricing["input_cache_read"]),
      cacheWrite: extraPrice(pricing["input_cache_write"]),
      audioInput: null,
      reasoning: null,
    },
  };
}

/** Undefined for what is missing, negative ("-1" means "it depends"), no number, or absurd. */
function priceOf(value: unknown): PicoUsd | undefined {
  const raw = rawPrice.safeParse(value);
  return raw.success ? parsePicoUsd(raw.data) : undefined;
}

/**
 * Price of a meter that is a part of another one. Listings say "0" when the part has no price of its own, so zero counts as
 * absent: else tokens of a paid whole would go unbilled.
 */
function extraPrice(value: unknown): PicoUsd | null {
  const price = priceOf(value);
  return price === undefined || price === 0n ? null : price;
}

function isTextOnly(modalities: readonly string[]): boolean {
  return modalities.length > 0 && modalities.every((modality) => modality === "text");
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && /^[\w.:/-]{1,64}$/.test(value);
}

/** A name that can be stored and shown: nothing unshown, no halves of characters, not too long. */
function nameOf(name: string | null | undefined, otherwise: string): string {
  const clean = withoutUnshown((name ?? "").toWellFormed())
    .trim()
    .slice(0, MOST_NAME_CHARACTERS);
  return clean === "" ? otherwise : clean.toWellFormed();
}

function vendorOf(id: string): string {
  return id.split("/", 1)[0] ?? id;
}

function dayOf(seconds: number | null | undefined): string | null {
  return seconds == null ? null : new Date(seconds * 1000).toISOString().slice(0, 10);
}

function dateIn(text: string | null | undefined): string | null {
  const day = z.iso.date().safeParse(text?.slice(0, 10));
  return day.success ? day.data : null;
}
