// Guarantees of several text upstreams: their lists become one. A model of several upstreams is one model with their
// routes in order. Its price contains each upstream's rates and is stored before it is shown.

import { until } from "@gr/testing";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type FakeUpstream, listing, openRouterRow, startFakeUpstream } from "../test/fake-upstream.ts";
import { type CatalogUnderTest, startCatalog } from "../test/start-catalog.ts";

const PATIENCE = { timeoutMs: 60_000 };
const dear = { prompt: "0.000001", completion: "0.000002", request: "0.001" };
let first: FakeUpstream;
let second: FakeUpstream;
let world: CatalogUnderTest | undefined;

beforeEach(async () => {
  first = await startFakeUpstream(listing(openRouterRow("a/both"), openRouterRow("a/first")));
  second = await startFakeUpstream(
    listing(
      openRouterRow("a/both", { pricing: dear, supported_parameters: ["temperature"] }),
      openRouterRow("a/second"),
    ),
  );
});
afterEach(async () => {
  await world?.stop();
  await world?.database.drop();
  await first.close();
  await second.close();
});

async function start(): Promise<CatalogUnderTest> {
  const upstreams = [
    { name: "first", kind: "openrouter", base_url: first.url },
    { name: "second", kind: "openrouter", base_url: second.url },
  ];
  const env = {
    TEXT_UPSTREAMS: JSON.stringify(upstreams),
    TEXT_IMPORT_INTERVAL_MS: "3600000",
    MEDIA_PROVIDERS: "",
  };
  world = await startCatalog({ env });
  return world;
}
const modelsOf = async ({ catalog }: CatalogUnderTest) =>
  (await catalog.getCatalog({})).catalog?.models ?? [];
const routesOf = async (of: CatalogUnderTest) =>
  (await modelsOf(of)).map(({ id, routes }) => [id, ...routes.map(({ provider }) => provider)]);

const ALL = [
  ["a/both", "first", "second"],
  ["a/first", "first"],
  ["a/second", "second"],
];

test("what all of them list is one list, and each model has the routes of those that have it", async () => {
  const catalog = await start();
  await until(async () => (await catalog.ids()).length === 3, PATIENCE);
  expect(await routesOf(catalog)).toEqual(ALL);
  const [both] = await modelsOf(catalog);
  expect(both?.supportedParameters).toEqual(["temperature"]);
  expect(both?.price?.rule).toMatchObject({
    value: {
      inputPicoUsd: 500_000n,
      upstreams: [
        { provider: "second", price: { inputPicoUsd: 1_000_000n, requestPicoUsd: 1_000_000_000n } },
      ],
    },
  });
  const { price } = await catalog.operator.getPriceVersion({ version: both?.price?.version ?? "" });
  expect(price).toEqual(both?.price);
});

test("one that fails hides nothing of the other, and the operator hears which one it is", async () => {
  second.respond = (response) => response.writeHead(500).end();
  const catalog = await start();
  await until(async () => (await catalog.ids()).length === 2, PATIENCE);
  await expect(catalog.operator.syncCatalog({})).rejects.toMatchObject({
    message: expect.stringContaining("second: the upstream answered 500"),
  });
  expect((await catalog.operator.getTextImport({})).problem).toMatch(/^second: the upstream answered 500/);
  second.respond = listing(openRouterRow("a/both"), openRouterRow("a/second"));
  const { after } = await catalog.operator.syncCatalog({});
  expect(after?.models.map(({ id }) => id)).toEqual(["a/both", "a/first", "a/second"]);
  expect(after?.models[0]?.price?.rule).toMatchObject({ value: { upstreams: [] } });
});

test("a restart shows what all of them had listed, also while none of them answers", async () => {
  const before = await start();
  await until(async () => (await before.ids()).length === 3, PATIENCE);
  await before.stop();
  for (const upstream of [first, second]) upstream.respond = (response) => response.writeHead(500).end();
  const upstreams = [
    { name: "second", kind: "openrouter", base_url: second.url },
    { name: "first", kind: "openrouter", base_url: first.url },
  ];
  const env = { TEXT_UPSTREAMS: JSON.stringify(upstreams), MEDIA_PROVIDERS: "" };
  world = await startCatalog({ env, database: before.database });
  expect(await routesOf(world)).toEqual([["a/both", "second", "first"], ...ALL.slice(1)]);
});
