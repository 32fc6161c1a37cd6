// Every SQL statement about past prices. A price is stored before a model is shown at
// it, never changed, never deleted.
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Model, type Price, PriceSchema } from "@gr/proto/catalog";
import type { Pool } from "@gr/runtime";
import { versioned } from "./price-version.ts";

export interface PastPrice {
  readonly price: Price;
  /** Models at this price, in order of first sight; Unix milliseconds. */
  readonly models: readonly { readonly id: string; readonly firstSeenAt: number }[];
}

export interface PastPriceStore {
  /** Resolves when the price of each model is stored. @param at Unix milliseconds */
  keep(models: readonly Model[], at: number): Promise<void>;
  /** Undefined if no model was ever offered at it. */
  find(version: string): Promise<PastPrice | undefined>;
}

export function createPastPriceStore(pool: Pool): PastPriceStore {
  return {
    keep: async (models, at) => {
      const rows = models.flatMap(({ id, price }) => {
        if (price === undefined) return [];
        const { version, ...rule } = price;
        return [{ version, model: id, rule: toJson(PriceSchema, { ...rule, version: "" }) }];
      });
      // All processes write in one order, so that processes with the same prices cannot deadlock.
      await pool.query(
        `INSERT INTO price_version (version, model, rule, first_seen_at)
         SELECT version, model, rule, $2 FROM jsonb_to_recordset($1::jsonb) AS row (version text, model text, rule jsonb)
         ORDER BY version, model
         ON CONFLICT DO NOTHING`,
        [JSON.stringify(rows), new Date(at)],
      );
    },
    find: async (version) => {
      const { rows } = await pool.query<{ model: string; rule: JsonValue; first_seen_at: Date }>(
        "SELECT model, rule, first_seen_at FROM price_version WHERE version = $1 ORDER BY first_seen_at, model",
        [version],
      );
      const [first] = rows;
      if (first === undefined) return undefined;
      const models = rows.map((row) => ({ id: row.model, firstSeenAt: row.first_seen_at.getTime() }));
      return { price: priceOf(version, first.rule), models };
    },
  };
}

/** @throws Error if the version is not the hash of the rule */
function priceOf(version: string, json: JsonValue): Price {
  const price = versioned(fromJson(PriceSchema, json).rule);
  if (price.version !== version)
    throw new Error(`the kept rule of price ${version} is that of ${price.version}`);
  return price;
}
