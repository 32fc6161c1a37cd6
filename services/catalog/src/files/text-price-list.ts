// What text models cost whose upstream lists no prices: our own files, and a file of the operator, whose rows go before
// ours. A file is refused as a whole when anything in it is wrong.
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

/** By the id that the upstream lists. */
export type TextPriceList = ReadonlyMap<string, TextModel>;

const tokens = z.int().positive().nullable().default(null);
const priceFile = z.strictObject({ models: z.array(z.unknown()).min(1) });

const rates = z.strictObject({
  input: usdPerMillion,
  output: usdPerMillion,
  cached_input: usdPerMillion.optional(),
  cache_write: usdPerMillion.optional(),
  /** Writes that are kept for longer than usual: an hour, twelve hours. */
  long_cache_write: usdPerMillion.optional(),
  image_input: usdPerMillion.optional(),
  audio_input: usdPerMillion.optional(),
  reasoning: usdPerMillion.optional(),
  image_output: usdPerMillion.optional(),
  audio_output: usdPerMillion.optional(),
});

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
  /** What is left out is billed as input or output. */
  usd_per_million: rates,
  /** Rates of service tiers and of inputs above a length. A tier that is not named has no price, and is refused. */
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
  /** Added to each request. */
  request_usd: usd.default(0n),
  /** Each call of a tool that the provider runs, by the type that it has in the output. */
  tool_usd: z.record(z.string().regex(/^[a-z_]{1,40}_call$/, 'must end in "_call"'), usd).default({}),
  ...sourced,
});

/**
 * @param ownFile path of the operator's file; undefined = ours only.
 * @throws OperatorError that names file, model, field and rule of what is wrong.
 */
export async function readTextPriceList(ownFile: string | undefined): Promise<TextPriceList> {
  const files = await readSeedFiles(TEXT_PRICE_DIRECTORY);
  if (ownFile !== undefined) files.push(await readOwnFile(ownFile));
  return textPriceListOf(files);
}

/** Of two rows with one id in different files, the later file's counts. @throws OperatorError */
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
  row: Pick<z.infer<typeof priceRow>, "usd_per_million" | "request_usd" | "tool_usd" | "cases">,
): TextPrices {
  const common = { request: row.request_usd, tools: row.tool_usd };
  const cases = row.cases.map(({ tier = "", above_input_tokens = 0, usd_per_million }) => ({
    tier,
    aboveInputTokens: above_input_tokens,
    rates: { ...ratesOf(usd_per_million), ...common },
  }));
  return { ...ratesOf(row.usd_per_million), ...common, ...(cases.length === 0 ? {} : { cases }) };
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
