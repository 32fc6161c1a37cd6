// Guarantees of reading a listing: exact prices or no model, text only, and never an empty catalogue from nonsense.
import { create, toBinary } from "@bufbuild/protobuf";
import { formatPicoUsd } from "@gr/money";
import { SyncCatalogResponseSchema } from "@gr/proto/catalog";
import { type SkipReason, UPSTREAM_KINDS } from "@gr/text-upstream";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { snapshotOf } from "../offer/snapshot.ts";
import { MOST_LISTING_BYTES } from "../sources/fetch-listing.ts";
import { openRouterRow } from "../test/fake-upstream.ts";
import { MOST_OWN_BYTES } from "./own-catalog.ts";
import { readListing, UnusableListing } from "./text-listing.ts";
import { mergedTextModels } from "./text-model.ts";

const TODAY = "2026-11-20";
/** Message limit of the runtime's RPC, in either direction. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const openRouter = { kind: UPSTREAM_KINDS.openrouter, priceList: new Map() } as const;
const vercel = { kind: UPSTREAM_KINDS.vercel, priceList: new Map() } as const;
const read = (...rows: unknown[]) => readListing(openRouter, { data: rows }, TODAY);
const priced = (pricing: Record<string, unknown>) => openRouterRow("a/b", { pricing });

function skippedAs(row: unknown): SkipReason {
  const { models, skipped } = read(row);
  expect(models).toEqual([]);
  const reasons = Object.entries(skipped).filter(([, count]) => count > 0);
  expect(reasons).toEqual([[expect.any(String), 1]]);
  return reasons[0]?.[0] as SkipReason;
}

describe("a row of OpenRouter's shape", () => {
  test("has its prices of long prompts and of caches that last an hour", () => {
    const pricing = {
      ...{
        prompt: "0.000002",
        completion: "0.00001",
        input_cache_write: "0.0000025",
        input_cache_write_1h: "0.000004",
      },
      overrides: [
        { min_prompt_tokens: 200_001, prompt: "0.000004", completion: "0.000015" },
        { start_hour_utc: 16, prompt: "0.000001" },
      ],
    };
    const [model] = read(priced(pricing)).models;
    expect(model).toMatchObject({ prices: { input: 2_000_000n, longCacheWrite: 4_000_000n } });
    expect(model && "prices" in model && model.prices.cases).toMatchObject([
      {
        tier: "",
        aboveInputTokens: 200_000,
        rates: { input: 4_000_000n, output: 15_000_000n, cacheWrite: 2_500_000n },
      },
    ]);
  });

  test("becomes a model with exact prices, limits and abilities", () => {
    const row = openRouterRow("vendor/model-1:free", {
      architecture: { input_modalities: ["text", "image", "file", "audio"], output_modalities: ["text"] },
      pricing: {
        prompt: "0.00000014378",
        completion: "0.0000024332",
        request: "0.001",
        input_cache_read: "0.000000014",
        input_cache_write: "0.00000018",
        audio: "0.000001",
        internal_reasoning: "0.000003",
        web_search: "0.004",
      },
      supported_parameters: ["tools", "reasoning", "seed"],
      expiration_date: "2027-03-01T00:00:00Z",
    });
    expect(read(row).models).toEqual([
      {
        id: "vendor/model-1:free",
        name: "Name of vendor/model-1:free",
        ownedBy: "vendor",
        capabilities: ["chat", "vision", "audio-input", "file-input", "tools", "reasoning"],
        supportedParameters: ["tools", "reasoning", "seed"],
        contextTokens: 128_000,
        maxOutputTokens: 16_000,
        releaseDate: "2026-01-01",
        shutdownDate: "2027-03-01",
        prices: {
          input: 143_780n,
          output: 2_433_200n,
          request: 1_000_000_000n,
          cachedInput: 14_000n,
          cacheWrite: 180_000n,
          imageInput: null,
          audioInput: 1_000_000n,
          reasoning: 3_000_000n,
          imageOutput: null,
          audioOutput: null,
          tools: { web_search_call: 4_000_000_000n },
        },
      },
    ]);
  });

  test("keeps every decimal price of 1e-12 USD exactly", () => {
    const pico = fc.bigInt({ min: 0n, max: 2n ** 62n });
    fc.assert(
      fc.property(pico, pico, (input, output) => {
        const row = priced({ prompt: formatPicoUsd(input), completion: formatPicoUsd(output) });
        expect(read(row).models[0]?.prices).toMatchObject({ input, output });
      }),
    );
  });

  test("takes zero of a part as not priced apart, so that no token goes unbilled", () => {
    const row = priced({
      prompt: "1e-6",
      completion: "2e-6",
      internal_reasoning: "0",
      input_cache_read: "0",
    });
    expect(read(row).models[0]?.prices).toMatchObject({ reasoning: null, cachedInput: null });
  });

  test.each([
    ["a negative price", { prompt: "-1", completion: "-1" }],
    ["no price of the output", { prompt: "0.1" }],
    ["a price that is no number", { prompt: "cheap", completion: "0.1" }],
    ["an infinite price", { prompt: "Infinity", completion: "0.1" }],
    ["a NaN price", { prompt: "NaN", completion: "0.1" }],
    ["an empty price", { prompt: "", completion: "0.1" }],
    ["a null price", { prompt: null, completion: "0.1" }],
    ["a price beyond 64 bits", { prompt: "99999999", completion: "0.1" }],
    ["a negative price of a request", { prompt: "0", completion: "0", request: "-1" }],
  ])("with %s is left out", (_what, pricing) => {
    expect(skippedAs(priced(pricing))).toBe("no_price");
  });

  test("is left out when its tokens are free and something else is not: free means that nothing can cost anything", () => {
    for (const other of ["web_search", "image", "audio"]) {
      expect(skippedAs(priced({ prompt: "0", completion: "0", [other]: "0.01" }))).toBe("no_price");
    }
    expect(read(priced({ prompt: "0", completion: "0", web_search: "0", image: "0" })).models).toHaveLength(
      1,
    );
  });

  test.each([
    ["images", ["image"]],
    ["text and images", ["text", "image"]],
    ["embeddings", ["embeddings"]],
    ["nothing known", []],
  ])("that makes %s is left out", (_what, output_modalities) => {
    const architecture = { input_modalities: ["text"], output_modalities };
    expect(skippedAs(openRouterRow("a/b", { architecture }))).toBe("not_text");
  });

  test.each([
    null,
    7,
    [],
    {},
    openRouterRow("two words"),
    openRouterRow("../etc/passwd"),
    openRouterRow("a//b"),
    openRouterRow("a".repeat(201)),
    { ...openRouterRow("a/b"), pricing: "free" },
    { ...openRouterRow("a/b"), architecture: null },
  ])("that is no model is left out: %j", (row) => {
    expect(skippedAs(row)).toBe("malformed");
  });

  test("is left out from the day of its shutdown on", () => {
    const until = (expiration_date: string) => openRouterRow("a/b", { expiration_date });
    expect(skippedAs(until("2026-11-20"))).toBe("expired");
    expect(skippedAs(until("1970-01-01T00:00:00Z"))).toBe("expired");
    expect(read(until("2026-11-21")).models).toMatchObject([{ shutdownDate: "2026-11-21" }]);
  });

  test("with odd details is kept without them", () => {
    const row = openRouterRow("a/b", {
      name: "Half \ud83d of a\u0000 \u202ename\u2028\n",
      created: "yesterday",
      context_length: -1,
      top_provider: { context_length: 0.5, max_completion_tokens: null },
      supported_parameters: ["seed", 7, "no such\u0000 word", "x".repeat(65)],
      expiration_date: "2027-02-31",
    });
    expect(read(row).models[0]).toMatchObject({
      name: "Half \ufffd of a name",
      releaseDate: null,
      contextTokens: null,
      maxOutputTokens: null,
      supportedParameters: ["seed"],
      shutdownDate: null,
    });
  });

  test.each(["a/../b", "./b", "a/.", "a//b"])("whose id is %j is left out", (id) => {
    expect(skippedAs(openRouterRow(id))).toBe("malformed");
  });

  test("counts once when it comes twice", () => {
    const { models, skipped } = read(openRouterRow("a/b"), openRouterRow("a/b", { name: "again" }));
    expect(models.map(({ name }) => name)).toEqual(["Name of a/b"]);
    expect(skipped.repeated).toBe(1);
  });
});

test("a row of Vercel's shape becomes a model, other types are left out", () => {
  const row = {
    id: "vendor/model",
    object: "model",
    owned_by: "vendor",
    name: "Model",
    type: "language",
    context_window: 200_000,
    max_tokens: 64_000,
    tags: ["vision", "tool-use", "reasoning"],
    pricing: {
      input: "0.000003",
      output: "0.000015",
      input_cache_read: "0.0000003",
      input_cache_write: "0.00000375",
    },
  };
  const embedding = { ...row, id: "vendor/embedding", type: "embedding" };
  const unpriced = { ...row, id: "vendor/unpriced", pricing: null };
  const { models, skipped } = readListing(vercel, { data: [row, embedding, unpriced, "nonsense"] }, TODAY);
  expect(models).toMatchObject([
    {
      id: "vendor/model",
      capabilities: ["chat", "vision", "tools", "reasoning"],
      contextTokens: 200_000,
      maxOutputTokens: 64_000,
      prices: { input: 3_000_000n, output: 15_000_000n, cachedInput: 300_000n, cacheWrite: 3_750_000n },
    },
  ]);
  expect(skipped).toEqual({ malformed: 1, not_text: 1, no_price: 1, expired: 0, repeated: 0 });
});

test("a body that is no listing is an error, whatever it is", () => {
  for (const body of [null, [], "data", { data: {} }, { error: "x" }, { data: Array(5_001).fill(null) }]) {
    expect(() => readListing(openRouter, body, TODAY)).toThrow(UnusableListing);
  }
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      const isListing =
        typeof body === "object" && body !== null && Array.isArray((body as { data?: unknown }).data);
      if (isListing) expect(readListing(openRouter, body, TODAY).models).toEqual([]);
      else expect(() => readListing(openRouter, body, TODAY)).toThrow(UnusableListing);
    }),
  );
});

test("no row, whatever it is, breaks the reading of the others", () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.record({ id: fc.string(), pricing: fc.jsonValue() }),
      (rows, odd) => {
        const { models } = read(...rows, { ...openRouterRow("x/y"), ...odd }, openRouterRow("a/b"));
        expect(models.map(({ id }) => id)).toContain("a/b");
      },
    ),
  );
});

/** The largest number of rows with the longest texts, which need the most memory per byte of JSON. */
function largestListing(): unknown {
  const rowOf = (number: number, words: number) => ({
    id: `${number}${"i".repeat(200)}`.slice(0, 200),
    architecture: { input_modalities: ["image", "audio", "file"], output_modalities: ["text"] },
    pricing: { prompt: "9e5", completion: "9e5", request: "9e5", audio: "9e5", internal_reasoning: "9e5" },
    supported_parameters: ["tools", "reasoning", ...Array.from({ length: words }, () => "w".repeat(64))],
  });
  const listingOf = (words: number) => ({
    data: Array.from({ length: 5_000 }, (_, number) => rowOf(number, words)),
  });
  const left = MOST_LISTING_BYTES - JSON.stringify(listingOf(0)).length;
  return listingOf(Math.floor(left / 5_000 / 67));
}

test("the largest listing that is read makes a catalogue that two of fit one RPC message, as a sync answers", () => {
  const body = largestListing();
  const { models } = readListing(openRouter, body, TODAY);
  expect(models).toHaveLength(5_000);
  const shown = mergedTextModels([["default", models]]);
  const { catalog } = snapshotOf({ models: [], hidden: new Set() }, shown, TODAY);
  const answer = create(SyncCatalogResponseSchema, { before: catalog, after: catalog });
  // Room for the models of the seed, with files below this size, and for those of an operator's own folder.
  const forFiles = 256 * 1024 + MOST_OWN_BYTES;
  expect(toBinary(SyncCatalogResponseSchema, answer).length).toBeLessThan(MAX_MESSAGE_BYTES - 2 * forFiles);
});
