// TextPriceList has the prices of text models from upstreams that list none: our own files, and an operator's file
// with rows that override ours. A file with any fault is refused as a whole.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { OperatorError } from "@gr/runtime";
import type { TextModel, TextPrices } from "@gr/text-upstream";
import { z } from "zod";
import { TEXT_PRICE_DIRECTORY } from "../shipped-folders.ts";
import { MODEL_ID, MOST_ID_CHARACTERS, modelName } from "./model-name.ts";
import { readSeedFiles, type SeedFile } from "./seed.ts";
import { isoDate, sourced, usd, usdPerMillion } from "./seed-price.ts";
import { nameOfRow, parseFile, problemsOf, refuseProblems } from "./seed-problems.ts";

/** Models by the id in the upstream's list. */
export type TextPriceList = ReadonlyMap<string, TextModel>;

const tokens = z.int().positive().nullable().default(null);
const priceFile = z.strictObject({ models: z.array(z.unknown()).min(1) });

const rates = z.strictObject({
  input: usdPerMillion,
  output: usdPerMillion,
  cached_input: usdPerMillion.optional(),
  cache_write: usdPerMillion.optional(),
  /** Cache writes that last longer than usual: an hour, twelve hours. */
  long_cache_write: usdPerMillion.optional(),
  image_input: usdPerMillion.optional(),
  audio_input: usdPerMillion.optional(),
  reasoning: usdPerMillion.optional(),
  image_output: usdPerMillion.optional(),
  audio_output: usdPerMillion.optional(),
});

const TIME = /^([01]\d|2[0-3]):[0-5]\d$|^24:00$/;
const timeOfDay = z
  .string()
  .regex(TIME, "must be a time of the day as HH:MM")
  .transform((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)));
const dailyHours = z
  .strictObject({
    /** From 1 (Monday) to 7 (Sunday); absent = every day. */
    weekdays: z.array(z.int().min(1).max(7)).default([]),
    from: timeOfDay,
    to: timeOfDay,
  })
  .refine(({ from, to }) => from < to, "must end after it begins, on the same day");

export const priceRow = z.strictObject({
  id: z.string().regex(MODEL_ID).max(MOST_ID_CHARACTERS),
  name: modelName,
  owned_by: z.string().min(1).max(200),
  capabilities: z.array(z.enum(["chat", "vision", "audio-input", "file-input", "tools", "reasoning"])).min(1),
  /** Null = unknown. */
  context_tokens: tokens,
  max_output_tokens: tokens,
  release_date: isoDate.nullable().default(null),
  /** The first day on which the upstream no longer serves it. */
  shutdown_date: isoDate.nullable().default(null),
  /** Absent meters are billed as input or output. */
  usd_per_million: rates,
  /** Rates of service tiers and of inputs above a length. A tier without rates has no price, and is refused. */
  cases: z
    .array(
      z.strictObject({
        tier: z
          .string()
          .regex(/^[a-z_]{1,40}$/)
          .optional(),
        above_input_tokens: z.int().positive().optional(),
        usd_per_million: rates,
      }),
    )
    .default([]),
  /** Rates of some hours in UTC, for the standard tier and inputs without a case; other times have the usual rates. */
  off_peak: z
    .array(z.strictObject({ hours: z.array(dailyHours).min(1), usd_per_million: rates }))
    .default([]),
  /** Added to each request. */
  request_usd: usd.default(0n),
  /** Price of each call of a provider's tool, by its type in the output. */
  tool_usd: z.record(z.string().regex(/^[a-z_]{1,40}_call$/, 'must end in "_call"'), usd).default({}),
  ...sourced,
});

/**
 * @param ownFile path of the operator's file; undefined = ours only
 * @throws OperatorError that names file, model, field and rule of each fault
 */
export async function readTextPriceList(ownFile: string | undefined): Promise<TextPriceList> {
  const files = await readSeedFiles(TEXT_PRICE_DIRECTORY);
  if (ownFile !== undefined) files.push(await readOwnFile(ownFile));
  return textPriceListOf(files);
}

/** Of two rows with one id in different files, the later file's row applies. @throws OperatorError */
export function textPriceListOf(files: readonly SeedFile[]): TextPriceList {
  const read = files.map(readPriceFile);
  refuseProblems(
    "The price list of text models",
    read.flatMap(({ problems }) => problems),
  );
  return new Map(read.flatMap(({ models }) => models.map((model) => [model.id, model])));
}

async function readOwnFile(path: string): Promise<SeedFile> {
  try {
    return { name: basename(path), content: await readFile(path, "utf8") };
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new OperatorError(`TEXT_PRICE_FILE names ${path}, which cannot be read (${reason}).`);
  }
}

function readPriceFile(file: SeedFile): { models: TextModel[]; problems: string[] } {
  const parsed = parseFile(priceFile, file);
  if ("problems" in parsed) return { models: [], problems: parsed.problems };
  const models: TextModel[] = [];
  const problems: string[] = [];
  for (const [index, row] of parsed.data.models.entries()) {
    const at = `${file.name}: ${nameOfRow(row, index)}`;
    const read = priceRow.safeParse(row);
    if (!read.success) problems.push(...problemsOf(read.error, at));
    else if (models.some(({ id }) => id === read.data.id)) problems.push(`${at}: is there more than once`);
    else models.push(textModelOf(read.data));
  }
  return { models, problems };
}

export function textModelOf(row: z.infer<typeof priceRow>): TextModel {
  return {
    id: row.id,
    name: row.name,
    ownedBy: row.owned_by,
    capabilities: row.capabilities,
    supportedParameters: [],
    contextTokens: row.context_tokens,
    maxOutputTokens: row.max_output_tokens,
    releaseDate: row.release_date,
    shutdownDate: row.shutdown_date,
    prices: textPricesOf(row),
  };
}

export function textPricesOf(
  row: Pick<z.infer<typeof priceRow>, "usd_per_million" | "request_usd" | "tool_usd" | "cases" | "off_peak">,
): TextPrices {
  const common = { request: row.request_usd, tools: row.tool_usd };
  const cases = row.cases.map(({ tier = "", above_input_tokens = 0, usd_per_million }) => ({
    tier,
    aboveInputTokens: above_input_tokens,
    rates: { ...ratesOf(usd_per_million), ...common },
  }));
  const offPeak = row.off_peak.map(({ hours, usd_per_million }) => ({
    hours: hours.map(({ weekdays, from, to }) => ({ weekdays, fromMinute: from, toMinute: to })),
    rates: { ...ratesOf(usd_per_million), ...common },
  }));
  return {
    ...{ ...ratesOf(row.usd_per_million), ...common },
    ...(cases.length === 0 ? {} : { cases }),
    ...(offPeak.length === 0 ? {} : { offPeak }),
  };
}

function ratesOf(rates: z.infer<typeof priceRow>["usd_per_million"]): Omit<TextPrices, "request" | "tools"> {
  return {
    input: rates.input,
    output: rates.output,
    cachedInput: rates.cached_input ?? null,
    cacheWrite: rates.cache_write ?? null,
    ...(rates.long_cache_write === undefined ? {} : { longCacheWrite: rates.long_cache_write }),
    imageInput: rates.image_input ?? null,
    audioInput: rates.audio_input ?? null,
    reasoning: rates.reasoning ?? null,
    imageOutput: rates.image_output ?? null,
    audioOutput: rates.audio_output ?? null,
  };
}
