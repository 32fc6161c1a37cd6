// Guarantees of an operator's import, and of several catalogue processes over one database.
import { connectPostgres, createLogger } from "@gr/runtime";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type FakeUpstream, json, listing, openRouterRow, startFakeUpstream } from "./test/fake-upstream.ts";
import { type CatalogUnderTest, startCatalog } from "./test/start-catalog.ts";

const PATIENCE = { timeoutMs: 60_000 };
const atPrice = (id: string, prompt: string) =>
  openRouterRow(id, { pricing: { prompt, completion: "0.0000015" } });
const row = (id: string) => openRouterRow(id);

let upstream: FakeUpstream;
let world: CatalogUnderTest;
let second: CatalogUnderTest | undefined;

/** The schedule imports at the start, and then not before the test has ended. */
async function start(env: Record<string, string> = {}, before?: CatalogUnderTest): Promise<CatalogUnderTest> {
  return startCatalog({
    env: { TEXT_UPSTREAM_BASE_URL: upstream.url, TEXT_IMPORT_INTERVAL_MS: "3600000", ...env },
    ...(before === undefined ? {} : { database: before.database }),
  });
}

beforeEach(async () => {
  upstream = await startFakeUpstream(listing(row("vendor/one"), row("vendor/two")));
});
afterEach(async () => {
  await second?.stop();
  await world.stop();
  await world.database.drop();
  await upstream.close();
  second = undefined;
});

const textIds = async (of = world) => (await of.ids()).filter((id) => id.startsWith("vendor/"));
const versionOf = async (of = world) => (await of.catalog.getCatalog({})).catalog?.version;

describe("a sync", () => {
  test("has the upstream's models at its end, and says what was before and what is now", async () => {
    world = await start();
    const was = await versionOf();
    upstream.respond = listing(atPrice("vendor/two", "0.000002"), row("vendor/three"));
    const { before, after } = await world.operator.syncCatalog({});
    expect(before?.version).toBe(was);
    expect(after?.version).toBe(await versionOf());
    expect(await textIds()).toEqual(["vendor/three", "vendor/two"]);
    const priceIn = (catalog: typeof after) =>
      catalog?.models.find(({ id }) => id === "vendor/two")?.price?.rule.value;
    expect(priceIn(before)).toMatchObject({ inputPicoUsd: 500_000n });
    expect(priceIn(after)).toMatchObject({ inputPicoUsd: 2_000_000n });
  });

  test("of what is there already changes nothing", async () => {
    world = await start();
    const { before, after } = await world.operator.syncCatalog({});
    expect(after?.version).toBe(before?.version);
    expect(upstream.asked).toBe(2);
  });

  test("of an upstream that fails says why in one sentence, and the last good listing stays", async () => {
    world = await start({ TEXT_IMPORT_TIMEOUT_MS: "6000" });
    await until(async () => (await textIds()).length === 2, PATIENCE);
    const was = await versionOf();
    const failures: [FakeUpstream["respond"], RegExp][] = [
      [(response) => response.writeHead(503).end(), /stay: the upstream answered 503\.$/],
      [json("<html>"), /stay: the answer is not JSON\.$/],
      [json(`{"data":${"[".repeat(100_000)}${"]".repeat(100_000)}}`), /stay: the answer is not JSON\.$/],
      [listing(), /stay: none of its models can be used/],
      [(response) => response.destroy(), /stay: the upstream was not reached/],
      [() => undefined, /stay: there was no whole answer within 6000 ms\.$/],
    ];
    for (const [respond, sentence] of failures) {
      upstream.respond = respond;
      await expect(world.operator.syncCatalog({})).rejects.toMatchObject({
        reason: "provider_error",
        message: expect.stringMatching(sentence),
      });
      expect(await versionOf()).toBe(was);
    }
    await world.stop();
    upstream.respond = (response) => response.destroy();
    world = await start({}, world);
    expect(await versionOf()).toBe(was);
  });

  test("does not take over a listing that lost most of its models, however often it is asked to", async () => {
    upstream.respond = listing(...Array.from({ length: 10 }, (_, i) => row(`vendor/model-${i}`)));
    world = await start();
    upstream.respond = listing(row("vendor/model-0"));
    for (let i = 0; i < 4; i += 1) {
      await expect(world.operator.syncCatalog({})).rejects.toMatchObject({
        message: expect.stringMatching(/lists 1 usable models, fewer than half of the 10 before/),
      });
    }
    expect(await textIds()).toHaveLength(10);
  });

  test("comes after one that runs, so that an older listing never replaces a newer one", async () => {
    world = await start();
    let asked = 0;
    upstream.respond = (response) => {
      const now = asked;
      asked += 1;
      // The first answer is on its way for so long that a second one could overtake it.
      setTimeout(
        () => listing(row("vendor/one"), row(`vendor/answer-${now}`))(response),
        now === 0 ? 300 : 0,
      );
    };
    await Promise.all([world.operator.syncCatalog({}), world.operator.syncCatalog({})]);
    expect(await textIds()).toEqual(["vendor/answer-1", "vendor/one"]);
  });

  test("says why when there is nothing to import", async () => {
    world = await start({ TEXT_UPSTREAM_BASE_URL: "" });
    await expect(world.operator.syncCatalog({})).rejects.toMatchObject({
      reason: "invalid_value",
      message: expect.stringContaining("TEXT_UPSTREAM_BASE_URL"),
    });
  });
});

describe("a sync after the world has changed", () => {
  test("takes over a listing that lost only what was shut down meanwhile", async () => {
    const goes = (id: string) => openRouterRow(id, { expiration_date: "2026-11-21" });
    const going = Array.from({ length: 8 }, (_, i) => goes(`vendor/goes-${i}`));
    upstream.respond = listing(row("vendor/one"), row("vendor/two"), ...going);
    world = await start();
    expect(await textIds()).toHaveLength(10);
    world.clock.advance(24 * 3_600_000);
    upstream.respond = listing(atPrice("vendor/one", "0.000004"), row("vendor/two"));
    const { after } = await world.operator.syncCatalog({});
    expect(after?.models.find(({ id }) => id === "vendor/one")?.price?.rule.value).toMatchObject({
      inputPicoUsd: 4_000_000n,
    });
  });

  test("shows what an older database that was restored has, and then the newest listing again", async () => {
    world = await start();
    for (const id of ["vendor/three", "vendor/four"]) {
      upstream.respond = listing(row("vendor/one"), row(id));
      await world.operator.syncCatalog({});
    }
    const log = createLogger("silent", "test");
    const pool = await connectPostgres({ url: world.database.url, poolSize: 1, schema: "catalog", log });
    await pool.query("UPDATE text_model SET id = 'vendor/restored' WHERE id = 'vendor/four'");
    await pool.query("UPDATE text_listing SET revision = 1");
    await pool.query("DELETE FROM price_version");
    await until(async () => (await textIds()).includes("vendor/restored"), PATIENCE);
    await pool.query("DELETE FROM text_listing");
    await pool.end();
    upstream.respond = listing(row("vendor/one"), atPrice("vendor/new", "0.000009"));
    const { after } = await world.operator.syncCatalog({});
    expect(await textIds()).toEqual(["vendor/new", "vendor/one"]);
    for (const { id, price } of after?.models.filter((model) => model.id.startsWith("vendor/")) ?? []) {
      const past = await world.operator.getPriceVersion({ version: price?.version ?? "" });
      expect(past.models.map((model) => model.id)).toContain(id);
    }
  });
});

test("a price that went up or down more than tenfold is told apart from those that just changed", async () => {
  const jumps = async () => (await world.metric("catalog_price_jumps_total")) || 0;
  const priced = (one: string, two: string) =>
    listing(atPrice("vendor/one", one), atPrice("vendor/two", two));
  upstream.respond = priced("0.000001", "0.000001");
  world = await start();
  const steps: [FakeUpstream["respond"], number][] = [
    [priced("0.000009", "0.0000001"), 0],
    [priced("0.009", "0.0000001"), 1],
    [priced("0.000009", "0.00009"), 3],
    [priced("0.000009", "0.00009"), 3],
  ];
  for (const [respond, expected] of steps) {
    upstream.respond = respond;
    await world.operator.syncCatalog({});
    expect(await jumps()).toBe(expected);
  }
});

test("a jump of one meter is told, also when a request of average shape hardly notices", async () => {
  const at = (completion: string) =>
    listing(openRouterRow("vendor/one", { pricing: { prompt: "0.0001", completion } }));
  upstream.respond = at("0.000005");
  world = await start();
  upstream.respond = at("0.0000000001");
  await world.operator.syncCatalog({});
  expect(await world.metric("catalog_price_jumps_total")).toBe(1);
});

describe("catalogue processes over one database", () => {
  /** Starts a second process and waits for its first import. */
  async function startSecond(): Promise<CatalogUnderTest> {
    const started = await start({}, world);
    second = started;
    await until(
      async () => (await started.metric('catalog_text_imports_total{result="imported"}')) === 1,
      PATIENCE,
    );
    return started;
  }

  test("show what one of them has imported, at the same version", async () => {
    world = await start();
    const other = await startSecond();
    upstream.respond = listing(atPrice("vendor/one", "0.000004"), row("vendor/next"));
    await world.operator.syncCatalog({});
    const synced = await versionOf();
    await until(async () => (await versionOf(other)) === synced, PATIENCE);
    expect(await textIds(other)).toEqual(["vendor/next", "vendor/one"]);
    // Both fetched the list at their start; the second one has the change without a fetch.
    expect(upstream.asked).toBe(3);
  });

  test("go on from the listing of another one: it is not doubted for models that were gone before", async () => {
    upstream.respond = listing(...Array.from({ length: 10 }, (_, i) => row(`vendor/model-${i}`)));
    world = await start();
    const other = await startSecond();
    for (const count of [6, 4]) {
      upstream.respond = listing(...Array.from({ length: count }, (_, i) => row(`vendor/model-${i}`)));
      await world.operator.syncCatalog({});
    }
    await until(async () => (await textIds(other)).length === 4, PATIENCE);
    const { after } = await other.operator.syncCatalog({});
    expect(after?.version).toBe(await versionOf());
  });
});
