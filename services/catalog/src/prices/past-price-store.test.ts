// Guarantees of stored prices: each version returns its own rule, and no price is lost or changed.
import { create, equals } from "@bufbuild/protobuf";
import { type Model, ModelSchema, PriceSchema } from "@gr/proto/catalog";
import type { Pool } from "@gr/runtime";
import type { TestDatabase } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { loadSeed, SEED_DIRECTORY } from "../files/seed.ts";
import { connect, migratedDatabase } from "../test/migrated-database.ts";
import { createPastPriceStore } from "./past-price-store.ts";
import { type PriceRule, versioned } from "./price-version.ts";

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await migratedDatabase();
  pool = await connect(database.url);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const at = Date.UTC(2026, 10, 20, 12);
const modelOf = (id: string, rule: PriceRule): Model => create(ModelSchema, { id, price: versioned(rule) });
const versionOf = ({ price }: Model) => price?.version ?? "";

const pico = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const perhaps = fc.option(pico, { nil: undefined });
const words = fc.array(fc.constantFrom("1024x1024", "1280x720"), { maxLength: 2 });
const rule: fc.Arbitrary<PriceRule> = fc.oneof(
  fc
    .record({ quality: fc.constantFrom("", "low"), sizes: words, picoUsd: pico, maxPixels: pico })
    .map((tier) => ({
      case: "image" as const,
      value: { tiers: [tier], inputImagePicoUsd: tier.picoUsd, freeInputImages: 3 },
    })),
  fc.record({ unitPixels: pico, firstPicoUsd: pico, furtherPicoUsd: pico }).map((value) => ({
    case: "megapixel" as const,
    value,
  })),
  fc.record({ sizes: words, picoUsd: pico, audio: fc.boolean() }).map((tier) => ({
    case: "second" as const,
    value: { tiers: [tier, { picoUsd: tier.picoUsd }] },
  })),
  fc.record({ seconds: fc.array(fc.nat(60)), picoUsd: pico }).map((tier) => ({
    case: "clip" as const,
    value: { tiers: [tier] },
  })),
  fc.record({ inputPicoUsd: pico, outputPicoUsd: pico, cached: perhaps, images: perhaps }).map((all) => ({
    case: "token" as const,
    value: {
      inputPicoUsd: all.inputPicoUsd,
      outputPicoUsd: all.outputPicoUsd,
      ...(all.cached === undefined ? {} : { cachedInputPicoUsd: all.cached }),
      ...(all.images === undefined ? {} : { imageOutputPicoUsd: all.images }),
    },
  })),
);

test("a price of any kind comes back exactly as it was, by its version", async () => {
  await fc.assert(
    fc.asyncProperty(rule, async (one) => {
      const model = modelOf("acme/model", one);
      const store = createPastPriceStore(pool);
      await store.keep([model], at);
      const past = await store.find(versionOf(model));
      if (past === undefined || model.price === undefined) throw new Error("lost");
      expect(equals(PriceSchema, past.price, model.price)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test("every price of the seed can be kept and found", async () => {
  const seed = await loadSeed(SEED_DIRECTORY, { sandbox: true });
  const store = createPastPriceStore(pool);
  await store.keep(seed, at);
  for (const model of seed) {
    const past = await store.find(versionOf(model));
    expect(past?.models.map(({ id }) => id)).toContain(model.id);
    if (past === undefined || model.price === undefined) throw new Error("lost");
    expect(equals(PriceSchema, past.price, model.price)).toBe(true);
  }
});

test("what is kept stays as it was first seen, however often and from wherever it is kept again", async () => {
  const model = modelOf("acme/first", { case: "image", value: { tiers: [{ picoUsd: 77n }] } });
  await Promise.all(Array.from({ length: 8 }, () => createPastPriceStore(pool).keep([model], at)));
  await createPastPriceStore(pool).keep([model], at + 1_000);
  expect((await createPastPriceStore(pool).find(versionOf(model)))?.models).toEqual([
    { id: "acme/first", firstSeenAt: at },
  ]);
});

test("two models at one price are both named", async () => {
  const same: PriceRule = { case: "image", value: { tiers: [{ picoUsd: 78n }] } };
  const store = createPastPriceStore(pool);
  await store.keep([modelOf("acme/b", same)], at);
  await store.keep([modelOf("acme/a", same)], at + 1);
  expect((await store.find(versionOf(modelOf("", same))))?.models.map(({ id }) => id)).toEqual([
    "acme/b",
    "acme/a",
  ]);
});

test("a rule that was tampered with is not given out as the one that was charged", async () => {
  const model = modelOf("acme/tampered", { case: "image", value: { tiers: [{ picoUsd: 79n }] } });
  const store = createPastPriceStore(pool);
  await store.keep([model], at);
  await pool.query("UPDATE price_version SET rule = '{}' WHERE model = 'acme/tampered'");
  await expect(store.find(versionOf(model))).rejects.toThrow(/the kept rule of price/);
});

test("a price that nobody was offered is not known", async () => {
  expect(await createPastPriceStore(pool).find("0123456789abcdef")).toBeUndefined();
});
