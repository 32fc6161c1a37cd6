// Guarantees of the import: an upstream's listed models are sold at its prices, and its faults never remove a model.
import { priceOfTokens } from "@gr/models";
import { CatalogService, ModelKind, TextImportState } from "@gr/proto/catalog";
import { defineModule } from "@gr/runtime";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { type FakeUpstream, json, listing, openRouterRow, startFakeUpstream } from "../test/fake-upstream.ts";
import { type CatalogUnderTest, startCatalog } from "../test/start-catalog.ts";

const PATIENCE = { timeoutMs: 60_000 };
const rows = (count: number) => Array.from({ length: count }, (_, i) => openRouterRow(`vendor/model-${i}`));

/** The seed's offer if OpenAI is configured. */
const SEED = [
  ...["openai/gpt-image-1-mini", "openai/gpt-image-1.5", "openai/gpt-image-2"],
  ...["openai/gpt-image-2.5-flare", "openai/gpt-image-2.5-sunburst"],
  ...["openai/gpt-image-2.6-flare", "openai/gpt-image-2.6-sunburst"],
];

let upstream: FakeUpstream;
let world: CatalogUnderTest | undefined;

beforeEach(async () => {
  upstream = await startFakeUpstream(listing(openRouterRow("vendor/one"), openRouterRow("vendor/two")));
});
afterEach(async () => {
  await world?.stop();
  await world?.database.drop();
  world = undefined;
  await upstream.close();
});

/** Imports again every 20 ms by default. */
async function start(
  env: Record<string, string> = {},
  options: { unattended?: boolean } = {},
): Promise<CatalogUnderTest> {
  world = await startCatalog({
    ...options,
    env: { TEXT_UPSTREAM_BASE_URL: upstream.url, TEXT_IMPORT_INTERVAL_MS: "20", ...env },
  });
  return world;
}

const textIds = async () => (await world?.ids())?.filter((id) => id.startsWith("vendor/")) ?? [];
describe("an import", () => {
  test("is done when the start is, and gives models that route to the upstream", async () => {
    const { catalog } = await start({ TEXT_UPSTREAM_NAME: "main", TEXT_UPSTREAM_API_KEY: "sk-upstream" });
    const answer = await catalog.getCatalog({});
    const model = answer.catalog?.models.find(({ id }) => id === "vendor/one");
    expect(model).toMatchObject({
      kind: ModelKind.TEXT,
      ownedBy: "vendor",
      contextTokens: 128_000n,
      maxOutputTokens: 16_000n,
      routes: [{ provider: "main", upstreamModel: "vendor/one" }],
    });
    if (model?.price?.rule.case !== "token") throw new Error("no token price");
    expect(priceOfTokens(model.price.rule.value, { inputTokens: 3, outputTokens: 2 })).toBe(4_500_000n);
    expect(upstream.lastRequest?.url).toBe("/api/v1/models");
    expect(upstream.lastRequest?.headers.authorization).toBe("Bearer sk-upstream");
  });

  test("follows the upstream: new models, new prices, models that are gone", async () => {
    await start();
    expect(await textIds()).toEqual(["vendor/one", "vendor/two"]);
    upstream.respond = listing(openRouterRow("vendor/two"), openRouterRow("vendor/three"));
    await until(async () => String(await textIds()) === "vendor/three,vendor/two", PATIENCE);
  });

  test("never replaces a seed model by an upstream's of the same id", async () => {
    upstream.respond = listing(openRouterRow("openai/gpt-image-2"), openRouterRow("vendor/one"));
    const { catalog } = await start();
    const { models } = (await catalog.getCatalog({})).catalog ?? { models: [] };
    expect(models.filter(({ id }) => id === "openai/gpt-image-2")).toMatchObject([{ kind: ModelKind.IMAGE }]);
  });

  test("does not happen when no upstream is configured", async () => {
    const { ids, operator } = await start({ TEXT_UPSTREAM_BASE_URL: "" });
    expect(await ids()).toEqual([...SEED]);
    expect(await operator.getTextImport({})).toMatchObject({ state: TextImportState.NONE });
  });

  test("that failed at the start is repeated soon, not after a whole interval", async () => {
    const respond = upstream.respond;
    upstream.respond = (response) => response.writeHead(503).end();
    await start({ TEXT_IMPORT_INTERVAL_MS: "3600000" });
    expect(await textIds()).toEqual([]);
    const state = () => world?.operator.getTextImport({});
    expect(await state()).toMatchObject({
      state: TextImportState.FAILED,
      problem: "the upstream answered 503",
    });
    upstream.respond = respond;
    await until(async () => (await textIds()).length === 2, PATIENCE);
    expect(await state()).toMatchObject({ state: TextImportState.DONE, problem: "" });
  });
});

const BAD: readonly [string, FakeUpstream["respond"]][] = [
  ["fails", (response) => response.writeHead(500).end("oops")],
  ["asks for another key", (response) => response.writeHead(401).end("{}")],
  ["sends no JSON", json("<html>")],
  ["sends cut JSON", json('{"data":[{"id":"vendor/one"')],
  ["sends another shape", json({ models: [] })],
  ["lists nothing", listing()],
  [
    "lists nothing usable",
    listing(openRouterRow("vendor/one", { pricing: { prompt: "-1", completion: "-1" } })),
  ],
  [
    "lists nothing that is still on sale",
    listing(
      openRouterRow("vendor/one", { expiration_date: "2026-11-20" }),
      openRouterRow("vendor/two", { expiration_date: "1970-01-01" }),
    ),
  ],
  ["has nothing newer to say", (response) => response.writeHead(304).end()],
  ["redirects", (response) => response.writeHead(302, { location: "/api/v1/other" }).end()],
  ["breaks off", (response) => response.writeHead(200).write('{"data":', () => response.destroy())],
];

describe("the last good listing stays when the upstream", () => {
  test("answers anything but a listing", async () => {
    const { metric } = await start();
    const failed = async () => (await metric('catalog_text_imports_total{result="failed"}')) || 0;
    for (const [what, respond] of BAD) {
      upstream.respond = respond;
      const before = await failed();
      await until(async () => (await failed()) >= before + 2, PATIENCE);
      expect({ what, ids: await textIds() }).toEqual({ what, ids: ["vendor/one", "vendor/two"] });
    }
  });

  test("sends more than can be a listing, of which no more is read", async () => {
    const { metric } = await start();
    const chunk = Buffer.alloc(1024 * 1024, " ");
    // Far above the capacity of the buffers between two sockets.
    const endless = 256 * 1024 * 1024;
    let most = 0;
    upstream.respond = (response) => {
      let sent = 0;
      const more = (error?: Error | null) => {
        if (error) return;
        sent += chunk.length;
        most = Math.max(most, sent);
        if (sent < endless) response.write(chunk, more);
      };
      response.writeHead(200);
      more();
    };
    await until(async () => (await metric('catalog_text_imports_total{result="failed"}')) >= 1, PATIENCE);
    expect(most).toBeLessThan(endless / 2);
    expect(await textIds()).toEqual(["vendor/one", "vendor/two"]);
  });

  test("hangs, before the answer or within it", async () => {
    const { metric } = await start({ TEXT_IMPORT_TIMEOUT_MS: "300" });
    await until(async () => (await textIds()).length === 2, PATIENCE);
    upstream.respond = () => undefined;
    await until(async () => (await metric('catalog_text_imports_total{result="failed"}')) >= 1, PATIENCE);
    const failed = await metric('catalog_text_imports_total{result="failed"}');
    upstream.respond = (response) => response.writeHead(200).write("[");
    await until(
      async () => (await metric('catalog_text_imports_total{result="failed"}')) >= failed + 2,
      PATIENCE,
    );
    expect(await textIds()).toEqual(["vendor/one", "vendor/two"]);
  });

  test("loses most of its models, until it has lost them for three intervals in a row", async () => {
    const listed = [10, 4, 4, 10, 4, 4, 4, 4];
    const shown: number[] = [];
    let started: Promise<unknown> = Promise.resolve();
    upstream.respond = (response) => {
      const now = upstream.asked - 1;
      const answer = listing(...rows(listed[now] ?? 4));
      if (now >= listed.length) {
        // The test may be over, and its process stopped.
        answer(response);
        return;
      }
      // While a listing is on its way, the catalogue shows the earlier ones. A start waits for the first listing; the
      // second may arrive before the end of the start, when the catalogue cannot be read yet.
      void (now === 0 ? Promise.resolve() : started)
        .then(textIds)
        .then((ids) => shown.push(ids.length))
        .then(() => answer(response));
    };
    started = start();
    await started;
    await until(() => shown.length >= listed.length, PATIENCE);
    expect(shown.slice(1, listed.length)).toEqual([10, 10, 10, 10, 10, 10, 4]);
  });
});

describe("after a restart", () => {
  test("the last good listing is there although the upstream is not", async () => {
    const before = await start();
    const { version } = (await before.catalog.getCatalog({})).catalog ?? { version: "" };
    await before.stop();
    upstream.respond = (response) => response.writeHead(503).end();
    const env = { TEXT_UPSTREAM_BASE_URL: upstream.url };
    world = await startCatalog({ database: before.database, env });
    const { catalog } = await world.catalog.getCatalog({});
    expect(catalog?.models.map(({ id }) => id)).toEqual([...SEED, "vendor/one", "vendor/two"]);
    expect(catalog?.version).toBe(version);
  });

  test("it is there from the first moment: nobody is told that its models do not exist", async () => {
    const before = await start();
    await before.stop();
    let seen: string[] = [];
    // Modules are created before any is started: the earliest possible request.
    const early = defineModule({
      name: "early",
      needs: ["catalog"],
      config: z.object({}),
      create: async ({ dial }) => {
        const { catalog } = await dial("catalog", CatalogService).getCatalog({});
        seen = catalog?.models.map(({ id }) => id) ?? [];
        return {};
      },
    });
    world = await startCatalog({
      database: before.database,
      env: { TEXT_UPSTREAM_BASE_URL: upstream.url },
      beside: [early],
    });
    expect(seen).toEqual([...SEED, "vendor/one", "vendor/two"]);
  });

  test("the models of another upstream are not offered", async () => {
    const before = await start();
    await before.stop();
    const env = { TEXT_UPSTREAM_BASE_URL: `${upstream.url}/elsewhere`, TEXT_UPSTREAM_KIND: "vercel" };
    world = await startCatalog({ database: before.database, env });
    expect(await textIds()).toEqual([]);
  });
});

test("a stop does not wait for a hanging upstream", async () => {
  upstream.respond = () => undefined;
  const { stop, database } = await start({}, { unattended: true });
  await until(() => upstream.asked > 0, PATIENCE);
  await stop();
  await database.drop();
  world = undefined;
  expect(upstream.asked).toBeGreaterThan(0);
});
