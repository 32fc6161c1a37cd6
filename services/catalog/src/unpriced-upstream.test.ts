// Guarantees for an upstream that lists no prices: models in its list and in the price list are sold at the list's
// price. The operator receives one sentence about a price list with a mistake, or without any of its models.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OperatorError } from "@gr/runtime";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { readTextPriceList, textPriceListOf } from "./files/text-price-list.ts";
import { type FakeUpstream, listing, startFakeUpstream } from "./test/fake-upstream.ts";
import { type CatalogUnderTest, startCatalog } from "./test/start-catalog.ts";

const row = (id: string, fields: object = {}) => ({
  id,
  name: `Name of ${id}`,
  owned_by: "acme",
  capabilities: ["chat"],
  usd_per_million: { input: "2.5", output: "10" },
  source: "acme.test/pricing",
  as_of: "2026-11-01",
  ...fields,
});
const listed = (id: string) => ({ id, object: "model", created: 1_767_225_600, owned_by: "acme" });

describe("an import", () => {
  let upstream: FakeUpstream;
  let world: CatalogUnderTest;
  let folder: string;
  const file = () => join(folder, "prices.json");

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "text-prices-"));
    upstream = await startFakeUpstream(listing(listed("small"), listed("large"), listed("embedding")));
  });
  afterEach(async () => {
    await world.stop();
    await world.database.drop();
    await upstream.close();
    await rm(folder, { recursive: true });
  });

  async function start(models: object[], database?: CatalogUnderTest["database"]): Promise<void> {
    await writeFile(file(), JSON.stringify({ models }));
    const env = {
      TEXT_UPSTREAM_BASE_URL: upstream.url,
      TEXT_UPSTREAM_KIND: "openai",
      TEXT_IMPORT_INTERVAL_MS: "3600000",
      MEDIA_PROVIDERS: "",
      ...(models.length === 0 ? {} : { TEXT_PRICE_FILE: file() }),
    };
    world = await startCatalog({ env, ...(database === undefined ? {} : { database }) });
  }
  const prices = async () =>
    (await world.catalog.getCatalog({})).catalog?.models.map(({ id, price }) => [
      id,
      price?.rule.case === "token" ? price.rule.value.inputPicoUsd : undefined,
    ]);

  test("takes the models that the upstream lists and the price list has", async () => {
    await start([
      row("small"),
      row("large", { usd_per_million: { input: "30", output: "60" } }),
      row("other"),
    ]);
    expect(await prices()).toEqual([
      ["large", 30_000_000n],
      ["small", 2_500_000n],
    ]);
  });

  test("goes by the price list of this start, also before the upstream has answered", async () => {
    await start([row("small"), row("large")]);
    await world.stop();
    upstream.respond = (response) => response.writeHead(500).end();
    await start([row("small", { usd_per_million: { input: "7", output: "8" } })], world.database);
    expect(await prices()).toEqual([["small", 7_000_000n]]);
  });

  test("fails with a sentence for the operator when the price list has none of its models", async () => {
    await start([]);
    expect(await prices()).toEqual([]);
    await expect(world.operator.syncCatalog({})).rejects.toMatchObject({
      reason: "provider_error",
      message: expect.stringMatching(/it lists no prices, and our price list has none .* TEXT_PRICE_FILE\.$/),
    });
  });
});

describe("the price list", () => {
  const listOf = (...models: object[]) =>
    textPriceListOf([{ name: "mine.json", content: JSON.stringify({ models }) }]);

  test("has the last file's row of a model that several files have", () => {
    const files = ["1", "2"].map((input) => ({
      name: `${input}.json`,
      content: JSON.stringify({ models: [row("small", { usd_per_million: { input, output: "3" } })] }),
    }));
    expect(textPriceListOf(files).get("small")?.prices.input).toBe(2_000_000n);
  });

  test("reads every meter; what is left out has no price of its own", () => {
    const usd_per_million = {
      input: "1",
      output: "2",
      cached_input: "0.1",
      cache_write: "1.25",
      image_input: "4",
      audio_input: "5",
      reasoning: "3",
      image_output: "6",
      audio_output: "7",
    };
    const fees = { request_usd: "0.001", tool_usd: { web_search_call: "0.01" } };
    expect(listOf(row("a", { usd_per_million, ...fees })).get("a")?.prices).toEqual({
      input: 1_000_000n,
      output: 2_000_000n,
      cachedInput: 100_000n,
      cacheWrite: 1_250_000n,
      imageInput: 4_000_000n,
      audioInput: 5_000_000n,
      reasoning: 3_000_000n,
      imageOutput: 6_000_000n,
      audioOutput: 7_000_000n,
      request: 1_000_000_000n,
      tools: { web_search_call: 10_000_000_000n },
    });
    expect(listOf(row("a")).get("a")?.prices).toMatchObject({
      cachedInput: null,
      audioOutput: null,
      tools: {},
    });
  });

  test.each<[string, object, RegExp]>([
    [
      "a price that is a number",
      row("a", { usd_per_million: { input: 2.5, output: "1" } }),
      /usd_per_million\.input: must be a decimal string/,
    ],
    [
      "a negative price",
      row("a", { usd_per_million: { input: "-1", output: "1" } }),
      /usd_per_million\.input: "-1" is not/,
    ],
    ["no price for output", row("a", { usd_per_million: { input: "1" } }), /usd_per_million\.output/],
    [
      "an unknown meter",
      row("a", { usd_per_million: { input: "1", output: "1", video: "1" } }),
      /usd_per_million: .*video/,
    ],
    ["no source", row("a", { source: "" }), /: source:/],
    ["a fee for what is no call", row("a", { tool_usd: { search: "1" } }), /tool_usd\.search/],
    ["an ability that there is not", row("a", { capabilities: ["telepathy"] }), /capabilities\[0\]/],
  ])("with %s is refused by file, model, field and rule", (_what, wrong, sentence) => {
    expect(() => listOf(row("b"), wrong)).toThrow(sentence);
    expect(() => listOf(row("b"), wrong)).toThrow(
      /^The price list of text models is not usable: mine\.json: a: /,
    );
  });

  test("with a model twice in a file is refused", () => {
    expect(() => listOf(row("a"), row("a"))).toThrow("mine.json: a: is there more than once");
  });

  test("that cannot be read is refused by its setting", async () => {
    await expect(readTextPriceList("/nowhere/prices.json")).rejects.toThrow(
      new OperatorError("TEXT_PRICE_FILE names /nowhere/prices.json, which cannot be read (ENOENT)."),
    );
  });
});
