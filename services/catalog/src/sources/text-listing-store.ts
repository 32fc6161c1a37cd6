// Every SQL statement about the last good listing of a text upstream. A listing is replaced as a whole with the next
// revision, by which each process sees whether it shows the newest one.

import { inTransaction, type Pool } from "@gr/runtime";
import type { TextModel, TextUpstream } from "@gr/text-upstream";

export interface TextListingStore {
  /** Revision of the last good listing of this upstream; undefined if there is none. */
  revision(upstream: TextUpstream): Promise<bigint | undefined>;
  /** Returns that listing; its revision may be an earlier one if it is replaced meanwhile. */
  load(upstream: TextUpstream): Promise<StoredListing | undefined>;
  /** Replaces the listing, in one transaction. @param at Unix milliseconds. @returns the new revision */
  save(upstream: TextUpstream, models: readonly TextModel[], at: number): Promise<bigint>;
}

export interface StoredListing {
  readonly revision: bigint;
  readonly models: readonly TextModel[];
}

interface TextRow {
  id: string;
  name: string;
  owned_by: string;
  capabilities: string[];
  supported_parameters: string[];
  context_tokens: bigint | null;
  max_output_tokens: bigint | null;
  release_date: string | null;
  shutdown_date: string | null;
  input_pico_usd: bigint;
  output_pico_usd: bigint;
  cached_input_pico_usd: bigint | null;
  cache_write_pico_usd: bigint | null;
  image_input_pico_usd: bigint | null;
  audio_input_pico_usd: bigint | null;
  reasoning_pico_usd: bigint | null;
  image_output_pico_usd: bigint | null;
  audio_output_pico_usd: bigint | null;
  /** Amounts as text. */
  tools_pico_usd: Readonly<Record<string, string>>;
  request_pico_usd: bigint;
}

/** Types for the conversion of a JSON row; dates are returned as their original text. */
const COLUMNS: Readonly<Record<keyof TextRow, string>> = {
  id: "text",
  name: "text",
  owned_by: "text",
  capabilities: "text[]",
  supported_parameters: "text[]",
  context_tokens: "bigint",
  max_output_tokens: "bigint",
  release_date: "date",
  shutdown_date: "date",
  input_pico_usd: "bigint",
  output_pico_usd: "bigint",
  cached_input_pico_usd: "bigint",
  cache_write_pico_usd: "bigint",
  image_input_pico_usd: "bigint",
  audio_input_pico_usd: "bigint",
  reasoning_pico_usd: "bigint",
  image_output_pico_usd: "bigint",
  audio_output_pico_usd: "bigint",
  tools_pico_usd: "jsonb",
  request_pico_usd: "bigint",
};
const NAMES = Object.keys(COLUMNS).join(", ");
const TYPED = Object.entries(COLUMNS)
  .map(([name, type]) => `${name} ${type}`)
  .join(", ");
const READ = Object.entries(COLUMNS)
  .map(([name, type]) => (type === "date" ? `${name}::text` : name))
  .join(", ");

export function createTextListingStore(pool: Pool): TextListingStore {
  const revision: TextListingStore["revision"] = async ({ name, kind, baseUrl }) => {
    const { rows } = await pool.query<{ revision: bigint }>(
      "SELECT revision FROM text_listing WHERE upstream = $1 AND kind = $2 AND base_url = $3",
      [name, kind.name, baseUrl],
    );
    return rows[0]?.revision;
  };
  return {
    revision,
    load: async (upstream) => {
      const known = await revision(upstream);
      if (known === undefined) return undefined;
      const { rows } = await pool.query<TextRow>(
        `SELECT ${READ} FROM text_model WHERE upstream = $1 ORDER BY id`,
        [upstream.name],
      );
      return { revision: known, models: rows.map(modelOf) };
    },
    save: (upstream, models, at) =>
      inTransaction(pool, async (client) => {
        // The row of the listing is locked first, so that two processes replace it one after the other.
        const { rows } = await client.query<{ revision: bigint }>(
          `INSERT INTO text_listing AS listing (upstream, kind, base_url, imported_at) VALUES ($1, $2, $3, $4)
           ON CONFLICT (upstream) DO UPDATE
           SET kind = excluded.kind, base_url = excluded.base_url, imported_at = excluded.imported_at,
             revision = listing.revision + 1
           RETURNING revision`,
          [upstream.name, upstream.kind.name, upstream.baseUrl, new Date(at)],
        );
        await client.query("DELETE FROM text_model WHERE upstream = $1", [upstream.name]);
        await client.query(
          `INSERT INTO text_model (upstream, ${NAMES})
           SELECT $1, ${NAMES} FROM jsonb_to_recordset($2::jsonb) AS row (${TYPED})`,
          [upstream.name, JSON.stringify(models.map(rowOf), digits)],
        );
        return rows[0]?.revision ?? 0n;
      }),
  };
}

/** JSON has no 64-bit integers; Postgres reads them from text. */
function digits(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function rowOf(model: TextModel): TextRow {
  const { prices } = model;
  return {
    id: model.id,
    name: model.name,
    owned_by: model.ownedBy,
    capabilities: [...model.capabilities],
    supported_parameters: [...model.supportedParameters],
    context_tokens: model.contextTokens === null ? null : BigInt(model.contextTokens),
    max_output_tokens: model.maxOutputTokens === null ? null : BigInt(model.maxOutputTokens),
    release_date: model.releaseDate,
    shutdown_date: model.shutdownDate,
    input_pico_usd: prices.input,
    output_pico_usd: prices.output,
    cached_input_pico_usd: prices.cachedInput,
    cache_write_pico_usd: prices.cacheWrite,
    image_input_pico_usd: prices.imageInput,
    audio_input_pico_usd: prices.audioInput,
    image_output_pico_usd: prices.imageOutput,
    audio_output_pico_usd: prices.audioOutput,
    tools_pico_usd: mapAmounts(prices.tools, String),
    reasoning_pico_usd: prices.reasoning,
    request_pico_usd: prices.request,
  };
}

function modelOf(row: TextRow): TextModel {
  return {
    id: row.id,
    name: row.name,
    ownedBy: row.owned_by,
    capabilities: row.capabilities,
    supportedParameters: row.supported_parameters,
    contextTokens: row.context_tokens === null ? null : Number(row.context_tokens),
    maxOutputTokens: row.max_output_tokens === null ? null : Number(row.max_output_tokens),
    releaseDate: row.release_date,
    shutdownDate: row.shutdown_date,
    prices: {
      input: row.input_pico_usd,
      output: row.output_pico_usd,
      cachedInput: row.cached_input_pico_usd,
      cacheWrite: row.cache_write_pico_usd,
      imageInput: row.image_input_pico_usd,
      audioInput: row.audio_input_pico_usd,
      imageOutput: row.image_output_pico_usd,
      audioOutput: row.audio_output_pico_usd,
      tools: mapAmounts(row.tools_pico_usd, BigInt),
      reasoning: row.reasoning_pico_usd,
      request: row.request_pico_usd,
    },
  };
}

function mapAmounts<From, To>(
  amounts: Readonly<Record<string, From>>,
  change: (amount: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(amounts).map(([call, amount]) => [call, change(amount)]));
}
