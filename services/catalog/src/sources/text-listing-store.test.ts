// Guarantees of the stored listing: it is read exactly as it was written, whole, and for its own upstream only.
import { join } from "node:path";
import type { Pool } from "@gr/runtime";
import { compareSchema, type TestDatabase } from "@gr/testing";
import { type TextModel, type TextUpstream, UPSTREAM_KINDS } from "@gr/text-upstream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { connect, migratedDatabase } from "../test/migrated-database.ts";
import { createTextListingStore, type TextListingStore } from "./text-listing-store.ts";

const upstream: TextUpstream = {
  name: "default",
  kind: UPSTREAM_KINDS.openrouter,
  prices: "listed",
  billed: true,
  continues: undefined,
  timers: {},
  baseUrl: "http://upstream.test/v1",
  apiKey: undefined,
};

let database: TestDatabase;
let pool: Pool;
let store: TextListingStore;

beforeAll(async () => {
  database = await migratedDatabase();
  pool = await connect(database.url);
  store = createTextListingStore(pool);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

test("the migrations add up to schema.sql", async () => {
  const { actual, golden } = await compareSchema(
    database.url,
    "catalog",
    join(import.meta.dirname, "../../schema.sql"),
  );
  expect(actual).toBe(golden);
});

const pico = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const perhaps = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const words = fc.array(fc.string({ unit: "grapheme-ascii", maxLength: 20 }), { maxLength: 4 });
const day = perhaps(fc.constantFrom("2024-02-29", "2026-11-20", "2099-12-31"));
const model: fc.Arbitrary<TextModel> = fc.record({
  id: fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 30 }),
  name: fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).map((name) => name.replaceAll("\0", "")),
  ownedBy: fc.constantFrom("vendor", "Ünïcode"),
  capabilities: words,
  supportedParameters: words,
  contextTokens: perhaps(fc.integer({ min: 1 })),
  maxOutputTokens: perhaps(fc.integer({ min: 1 })),
  releaseDate: day,
  shutdownDate: day,
  prices: fc.record({
    input: pico,
    output: pico,
    cachedInput: perhaps(pico),
    cacheWrite: perhaps(pico),
    imageInput: perhaps(pico),
    audioInput: perhaps(pico),
    imageOutput: perhaps(pico),
    audioOutput: perhaps(pico),
    tools: fc.dictionary(fc.constantFrom("web_search_call", "file_search_call"), pico, {
      noNullPrototype: true,
    }),
    reasoning: perhaps(pico),
    request: pico,
  }),
});

const byId = (models: readonly TextModel[]) => models.toSorted((one, other) => (one.id < other.id ? -1 : 1));

test("a listing comes back as it was saved, and replaces the one before", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(model, { selector: ({ id }) => id, maxLength: 8 }), async (models) => {
      await store.save(upstream, models, Date.UTC(2026, 10, 20));
      expect(byId((await store.load(upstream))?.models ?? [])).toEqual(byId(models));
    }),
    { numRuns: 40 },
  );
});

test("a listing is given to the upstream that it is of, and to no other", async () => {
  const models = fc.sample(model, { seed: 1, numRuns: 1 });
  await store.save(upstream, models, 0);
  expect((await store.load(upstream))?.models).toHaveLength(1);
  for (const other of [
    { name: "other" },
    { kind: UPSTREAM_KINDS.vercel },
    { baseUrl: "http://other.test/v1" },
  ]) {
    expect(await store.load({ ...upstream, ...other })).toBeUndefined();
    expect(await store.revision({ ...upstream, ...other })).toBeUndefined();
  }
  await store.save({ ...upstream, baseUrl: "http://other.test/v1" }, [], 0);
  expect(await store.load(upstream)).toBeUndefined();
});

test("processes that save at the same time leave one of the listings, whole", async () => {
  const [example] = fc.sample(model, { seed: 1, numRuns: 1 });
  if (example === undefined) throw new Error("no example");
  const listings = Array.from({ length: 8 }, (_, process) =>
    Array.from({ length: 50 }, (_, i) => ({ ...example, id: `model-${i}`, name: `of process ${process}` })),
  );
  const revisions = await Promise.all(listings.map((models) => store.save(upstream, models, 0)));
  const inOrder = revisions.toSorted((one, other) => Number(one - other));
  expect(inOrder.map((revision) => revision - (inOrder[0] ?? 0n))).toEqual(listings.map((_, i) => BigInt(i)));
  expect(await store.revision(upstream)).toBe(inOrder.at(-1));
  const stored = (await store.load(upstream))?.models ?? [];
  expect(stored).toHaveLength(50);
  expect(new Set(stored.map(({ name }) => name)).size).toBe(1);
});
