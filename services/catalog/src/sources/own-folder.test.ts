// Guarantees of the folder of an operator's own catalogue: changes are in force without a restart, faulty files do not
// replace the last valid state, and no price is shown before it is stored.
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OperatorError } from "@gr/runtime";
import { until } from "@gr/testing";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type FakeUpstream, listing, openRouterRow, startFakeUpstream } from "../test/fake-upstream.ts";
import { type CatalogUnderTest, startCatalog } from "../test/start-catalog.ts";

const PATIENCE = { timeoutMs: 60_000 };
const SOURCED = { source: "ours", as_of: "2026-11-22" };
const FLAT = { basis: "image", tiers: [{ usd: "0.02" }], ...SOURCED };
const text = (input: string) => ({
  id: "local/chat",
  type: "text",
  name: "Chat",
  owned_by: "local",
  capabilities: ["chat"],
  usd_per_million: { input, output: "1" },
  ...SOURCED,
});

let folder: string;
let worlds: CatalogUnderTest[];
let upstream: FakeUpstream;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "own-catalogue-"));
  worlds = [];
  upstream = await startFakeUpstream(listing({ id: "unpriced", object: "model" }));
});
afterEach(async () => {
  for (const world of worlds) await world.stop();
  await worlds[0]?.database.drop();
  await upstream.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}): Promise<CatalogUnderTest> {
  const [first] = worlds;
  const world = await startCatalog({
    env: {
      CATALOG_DIR: folder,
      SANDBOX_MODELS: "true",
      ...env,
    },
    ...(first === undefined ? {} : { database: first.database }),
  });
  worlds.push(world);
  return world;
}

/** A server of one's own, which lists a model without a price. */
const withText = () => ({ TEXT_UPSTREAM_BASE_URL: upstream.url, TEXT_UPSTREAM_KIND: "openai" });

/** Writes a file like an editor: under another name, then renamed. */
async function write(...models: object[]): Promise<void> {
  await writeFile(join(folder, "new"), JSON.stringify({ models }));
  await rename(join(folder, "new"), join(folder, "mine.json"));
}
const version = async (world: CatalogUnderTest, id: string) =>
  (await world.catalog.getCatalog({})).catalog?.models.find((one) => one.id === id)?.price?.version;

describe("a change of the folder", () => {
  test("reaches the watchers of every catalogue process, with prices that are kept by then", async () => {
    const [one, other] = [await start(withText()), await start(withText())];
    const before = await version(one, "sandbox/image");
    const leaving = new AbortController();
    const seen = (async () => {
      for await (const { catalog } of other.catalog.watchCatalog({}, { signal: leaving.signal })) {
        const price = catalog?.models.find(({ id }) => id === "sandbox/image")?.price?.version;
        if (price === before || price === undefined) continue;
        return { price, kept: await other.operator.getPriceVersion({ version: price }), catalog };
      }
      return undefined;
    })();
    await write(
      { id: "sandbox/image", price: FLAT },
      { id: "sandbox/image-edit", hidden: true },
      text("0.5"),
    );
    const found = await seen;
    leaving.abort();
    expect(found?.kept.models).toMatchObject([{ id: "sandbox/image" }]);
    expect(found?.kept.price?.version).toBe(found?.price);
    const listed = found?.catalog?.models.map(({ id }) => id) ?? [];
    expect(listed).toContain("local/chat");
    expect(listed).not.toContain("sandbox/image-edit");
    await until(async () => (await version(one, "sandbox/image")) === found?.price, PATIENCE);
    // The earlier price can still be read.
    expect((await one.operator.getPriceVersion({ version: before ?? "" })).price?.version).toBe(before);
  });

  test("that is wrong leaves the last good state, and says so, until it is right again", async () => {
    await write({ id: "sandbox/image", hidden: true });
    const world = await start();
    const usable = () => world.metric("catalog_folder_usable");
    expect(await usable()).toBe(1);
    for (const spoil of [
      () => write({ id: "sandbox/image", price: { ...FLAT, tiers: [{ usd: "0.009" }] } }),
      () => rm(folder, { recursive: true }),
    ]) {
      await spoil();
      await until(async () => (await usable()) === 0, PATIENCE);
      expect(await world.ids()).not.toContain("sandbox/image");
      expect((await world.get("/readyz")).status).toBe(200);
      await mkdir(folder, { recursive: true });
      await write({ id: "sandbox/image", hidden: true });
      await until(async () => (await usable()) === 1, PATIENCE);
    }
    await write({ id: "sandbox/video", hidden: true });
    await until(async () => (await world.ids()).includes("sandbox/image"), PATIENCE);
  });

  test("is seen where a mounted folder is swapped by its link", async () => {
    const states = ["a", "b"].map((state) => join(folder, `..${state}`));
    for (const [index, state] of states.entries()) {
      await mkdir(state);
      await writeFile(join(state, "mine.json"), JSON.stringify({ models: [text(String(index + 1))] }));
    }
    await symlink("..a", join(folder, "..data"));
    await symlink(join("..data", "mine.json"), join(folder, "mine.json"));
    const world = await start(withText());
    const first = await version(world, "local/chat");
    expect(first).toBeDefined();
    await symlink("..b", join(folder, "..data_tmp"));
    await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    await until(async () => (await version(world, "local/chat")) !== first, PATIENCE);
  });
});

describe("a start", () => {
  const refusal = async () => start().then(String, (error: unknown) => error);

  test("with a folder that is wrong or not there is refused in one sentence", async () => {
    await write({ id: "sandbox/image", price: { ...FLAT, tiers: [{ usd: "0.009" }] } });
    expect(await refusal()).toEqual(
      new OperatorError(
        "The catalogue folder is not usable: mine.json: sandbox/image: routes of openai: cost is above the price for low 1024x1024.",
      ),
    );
    await rm(folder, { recursive: true });
    expect(await refusal()).toEqual(
      new OperatorError(`The catalogue folder ${folder} cannot be read (ENOENT).`),
    );
  });
});

test("models of the text upstream are hidden by their id", async () => {
  upstream.respond = listing(openRouterRow("vendor/one"), openRouterRow("vendor/two"));
  await write({ id: "vendor/one", type: "text", hidden: true });
  const world = await start({ TEXT_UPSTREAM_BASE_URL: upstream.url, MEDIA_PROVIDERS: "" });
  expect(await world.ids()).toEqual(["vendor/two"]);
});

test("text models of the folder need no listing, so an import without priced models is none that failed", async () => {
  await write(text("1"));
  const world = await start({ ...withText(), MEDIA_PROVIDERS: "" });
  expect(await world.ids()).toEqual(["local/chat"]);
  await world.operator.syncCatalog({});
  expect(await world.ids()).toEqual(["local/chat"]);
});

test("a preview has another folder's models, and names those that nobody would serve", async () => {
  const world = await start();
  const routes = [{ provider: "nobody", upstream_model: "x", priority: 1, cost: null }];
  const content = JSON.stringify({
    models: [
      { id: "sandbox/video", hidden: true },
      { id: "sandbox/image", routes },
    ],
  });
  const own = { files: [{ name: "other.json", content }] };
  const { catalog, notes } = await world.operator.previewCatalog({ own });
  expect(notes).toEqual([
    "sandbox/image is not listed: none of its providers (nobody) makes such images here (MEDIA_PROVIDERS).",
  ]);
  expect(catalog?.models.some(({ id }) => id === "sandbox/image")).toBe(false);
  expect(await world.ids()).toContain("sandbox/image");
  const bad = { files: [{ name: "other.json", content: "{}" }] };
  await expect(world.operator.previewCatalog({ own: bad })).rejects.toMatchObject({
    reason: "invalid_value",
    param: "own",
    message: expect.stringMatching(/^The catalogue folder is not usable: other\.json: models: /),
  });
});
