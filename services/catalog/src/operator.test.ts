// Guarantees for operators: any past charge can be computed again, and a preview shows the effects of a change
// without any of them.
import { priceOfImageRequest, priceOfTokens } from "@gr/models";
import { chargeOf } from "@gr/money";
import { ModelKind } from "@gr/proto/catalog";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { readSeedFiles, SEED_DIRECTORY } from "./files/seed.ts";
import { type FakeUpstream, listing, openRouterRow, startFakeUpstream } from "./test/fake-upstream.ts";
import { type CatalogUnderTest, startCatalog } from "./test/start-catalog.ts";

const PATIENCE = { timeoutMs: 60_000 };
const atPrice = (prompt: string, completion: string) =>
  listing(openRouterRow("vendor/chat", { pricing: { prompt, completion } }));

let upstream: FakeUpstream;
let world: CatalogUnderTest;

async function start(env: Record<string, string> = {}, before?: CatalogUnderTest): Promise<CatalogUnderTest> {
  world = await startCatalog({
    env: { TEXT_UPSTREAM_BASE_URL: upstream.url, SANDBOX_MODELS: "true", ...env },
    ...(before === undefined ? {} : { database: before.database }),
  });
  return world;
}

beforeEach(async () => {
  upstream = await startFakeUpstream(atPrice("0.0000005", "0.0000015"));
});
afterEach(async () => {
  await world.stop();
  await world.database.drop();
  await upstream.close();
});

const find = async (id: string) =>
  (await world.catalog.getCatalog({})).catalog?.models.find((one) => one.id === id);

describe("a charge of a past day", () => {
  /** Charges a text request. */
  async function charge(version: string | undefined) {
    const rule = (await world.operator.getPriceVersion({ version: version ?? "" })).price?.rule;
    if (rule?.case !== "token") throw new Error("no such price");
    return chargeOf(priceOfTokens(rule.value, { inputTokens: 12_345, outputTokens: 678 }));
  }

  test("is worked out again after the price has changed, also after a restart", async () => {
    const first = await start({ TEXT_IMPORT_INTERVAL_MS: "20" });
    const held = (await find("vendor/chat"))?.price?.version;
    // 12,345 x 0.5 + 678 x 1.5 = 7,189.5 millionths of a USD, rounded up to 72 ten-thousandths.
    expect(await charge(held)).toBe(72n);
    upstream.respond = atPrice("0.000002", "0.000008");
    await until(async () => (await find("vendor/chat"))?.price?.version !== held, PATIENCE);
    const now = (await find("vendor/chat"))?.price?.version;
    // 12,345 x 2 + 678 x 8 = 30,114 millionths.
    expect(await charge(now)).toBe(302n);
    expect(await charge(held)).toBe(72n);
    await first.stop();
    await start({}, first);
    expect(await charge(held)).toBe(72n);
    expect((await world.operator.getPriceVersion({ version: held ?? "" })).models).toMatchObject([
      { id: "vendor/chat" },
    ]);
  });

  test("names a price of the seed just as well", async () => {
    await start();
    const model = await find("openai/gpt-image-2");
    const { price } = await world.operator.getPriceVersion({ version: model?.price?.version ?? "" });
    if (price === undefined) throw new Error("not kept");
    const asked = { images: 2, quality: "high", size: "1024x1024" };
    expect(priceOfImageRequest(price, asked)).toBe(2n * (7_024n * 30_000_000n + 64n * 5_000_000n));
  });

  test("that names a price of nobody is answered with none", async () => {
    await start();
    expect((await world.operator.getPriceVersion({ version: "feedfeedfeedfeed" })).price).toBeUndefined();
  });
});

describe("a preview", () => {
  const preview = async (seedFiles: { name: string; content: string }[] = []) =>
    world.operator.previewCatalog({ seedFiles });

  test("of what is there already is the catalogue itself", async () => {
    await start();
    const { catalog, notes } = await preview();
    expect(notes).toEqual([]);
    expect(catalog?.version).toBe((await world.catalog.getCatalog({})).catalog?.version);
  });

  test("of other seed files and a fresh import has both, and nothing happens", async () => {
    await start();
    const before = (await world.catalog.getCatalog({})).catalog?.version;
    upstream.respond = listing(openRouterRow("vendor/next"));
    const files = await readSeedFiles(SEED_DIRECTORY);
    const changed = files
      .filter(({ name }) => name !== "sandbox.json")
      .map(({ name, content }) => ({
        name,
        content: content.replaceAll('"tokens": 7024', '"tokens": 8000'),
      }));
    const { catalog } = await preview(changed);
    const models = catalog?.models ?? [];
    expect(models.map(({ id }) => id)).toEqual([
      "openai/gpt-image-1-mini",
      "openai/gpt-image-1.5",
      "openai/gpt-image-2",
      ...["openai/gpt-image-2.5-flare", "openai/gpt-image-2.5-sunburst"],
      ...["openai/gpt-image-2.6-flare", "openai/gpt-image-2.6-sunburst"],
      "vendor/next",
    ]);
    const price = models.find(({ id }) => id === "openai/gpt-image-2")?.price;
    if (price === undefined) throw new Error("no price");
    const asked = { images: 1, quality: "high", size: "1024x1024" };
    expect(priceOfImageRequest(price, asked)).toBe(8_000n * 30_000_000n + 64n * 5_000_000n);
    expect((await world.catalog.getCatalog({})).catalog?.version).toBe(before);
    // A rule that was never offered is no past price.
    expect((await world.operator.getPriceVersion({ version: price.version })).price).toBeUndefined();
  });

  test("of a seed that is not usable says why, in one sentence", async () => {
    await start();
    const file = { name: "acme.json", content: '{ "vendor": "acme", "models": [{ "id": "acme/x" }] }' };
    await expect(preview([file])).rejects.toMatchObject({
      reason: "invalid_value",
      param: "seed_files",
      message: expect.stringMatching(/^The catalogue seed is not usable: acme\.json: acme\/x: type: .*\.$/),
    });
  });

  test("keeps the text models when the upstream does not answer, and says so", async () => {
    await start();
    upstream.respond = (response) => response.writeHead(503).end();
    const { catalog, notes } = await preview();
    expect(catalog?.models.some(({ kind }) => kind === ModelKind.TEXT)).toBe(true);
    expect(notes).toEqual([expect.stringMatching(/text models are shown as they are now: .*503/)]);
  });
});
