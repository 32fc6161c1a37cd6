// Guarantees of an operator's own catalogue: files add, change and hide models, by all of the seed's rules. Each fault
// is named by file, model, field and rule.
import { readFile } from "node:fs/promises";
import { priceOf } from "@gr/models";
import { ModelKind } from "@gr/proto/catalog";
import { UPSTREAM_KINDS } from "@gr/text-upstream";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { type OwnTextUpstreams, ownCatalog, readOwnCatalog } from "./own-catalog.ts";
import { readSeed, readSeedFiles, SEED_DIRECTORY, type Seed } from "./seed.ts";

type Loose = Record<string, unknown>;
const SOURCED = { source: "our contract", as_of: "2026-11-22" };
const UPSTREAMS: OwnTextUpstreams = [
  { name: "main", kind: UPSTREAM_KINDS.openrouter },
  { name: "vllm", kind: UPSTREAM_KINDS["openai-compatible"] },
];

let shipped: Seed;
/** Shipped by a vendor of the tests: one model of a fixed price, one by the token. */
let seed: Seed;

const image = {
  id: "acme/image",
  type: "image",
  name: "Image",
  capabilities: ["text-to-image"],
  supported_parameters: ["prompt", "size"],
  sizes: ["1024x1024", "1536x1024"],
  qualities: [],
  seconds: [],
  default: { size: "1024x1024" },
  limits: { prompt_characters: 1_000, ...SOURCED },
  sources: [SOURCED],
  release_date: null,
  shutdown_date: null,
  arena_score: { value: 1_200, board: "one", entry: "image", ...SOURCED },
  price: { basis: "image", tiers: [{ usd: "0.04" }], ...SOURCED },
  routes: [
    { provider: "fal", upstream_model: "acme/image", priority: 1, cost: null },
    { provider: "acme", upstream_model: "image-1", priority: 2, cost: priced("0.03") },
  ],
};
const tokens = {
  basis: "metered",
  usd_per_million: { input: "5", output: "30" },
  most_tokens: { tiers: [{ tokens: 2_000 }] },
  ...SOURCED,
};
const metered = {
  ...image,
  id: "acme/metered",
  arena_score: null,
  price: tokens,
  routes: [{ provider: "acme", upstream_model: "metered-1", priority: 1, cost: null }],
};
const text = {
  id: "qwen3-8b",
  type: "text",
  name: "Qwen3 8B",
  owned_by: "qwen",
  capabilities: ["chat"],
  context_tokens: 32_768,
  usd_per_million: { input: "0.05", output: "0.2" },
  ...SOURCED,
};

beforeAll(async () => {
  shipped = readSeed(await readSeedFiles(SEED_DIRECTORY));
  seed = readSeed([fileOf("acme.json", image, metered)]);
});

function priced(usd: string) {
  return { basis: "image", tiers: [{ usd }], ...SOURCED };
}
function fileOf(name: string, ...models: Loose[]) {
  return { name, content: JSON.stringify({ ...(name === "acme.json" ? { vendor: "acme" } : {}), models }) };
}
const own = (...models: Loose[]) => ownCatalog(seed, [fileOf("mine.json", ...models)], UPSTREAMS);
const found = (catalog: ReturnType<typeof own>, id: string) => {
  const model = catalog.models.find((one) => one.id === id);
  if (model === undefined) throw new Error(`there is no ${id}`);
  return model;
};
const usdOf = (catalog: ReturnType<typeof own>, id: string) =>
  priceOf(found(catalog, id), { images: 1, quality: "auto", size: "1024x1024" })?.most;

describe("a row", () => {
  test("of a new model adds it, with its vendor in its id", () => {
    const catalog = own({ ...image, id: "ours/image" });
    expect(found(catalog, "ours/image")).toMatchObject({ ownedBy: "ours", kind: ModelKind.IMAGE });
    expect(catalog.added).toEqual(["ours/image"]);
    expect(catalog.models).toHaveLength(3);
  });

  test("of a shipped model changes the members that it names, and no other", () => {
    const before = found(own(text), "acme/image");
    const catalog = own({ id: "acme/image", price: priced("0.05"), name: "Renamed" });
    const { price: _old, name: _name, routes: _routes, ...rest } = before;
    expect(found(catalog, "acme/image")).toMatchObject({ ...rest, name: "Renamed" });
    expect(usdOf(catalog, "acme/image")).toBe(50_000_000_000n);
    expect(catalog).toMatchObject({ added: [], changed: ["acme/image"] });
  });

  test("takes an optional member away with null", () => {
    expect(found(own({ id: "acme/image", limits: null }), "acme/image").limits).toBeUndefined();
  });

  test("that raises a price leaves each route its cost, which was the price where none was known", () => {
    const { routes } = found(own({ id: "acme/image", price: priced("0.05") }), "acme/image");
    const costs = routes.map(({ cost }) => (cost?.rule.case === "image" ? cost.rule.value.tiers : undefined));
    expect(costs).toMatchObject([[{ picoUsd: 40_000_000_000n }], [{ picoUsd: 30_000_000_000n }]]);
  });

  test("may lower a price once it says that the route costs less", () => {
    const routes = [{ ...image.routes[0], cost: priced("0.01") }];
    const catalog = own({ id: "acme/image", price: priced("0.02"), routes });
    expect(usdOf(catalog, "acme/image")).toBe(20_000_000_000n);
  });

  test("hides a shipped model, one of its own, and one that only the text upstream lists", () => {
    const { models, hidden } = own(
      { id: "acme/image", hidden: true },
      { ...image, id: "ours/image", hidden: true },
      { id: "vendor/chat", type: "text", hidden: true },
    );
    expect(models.map(({ id }) => id)).toEqual(["acme/metered"]);
    expect([...hidden]).toEqual(["acme/image", "ours/image", "vendor/chat"]);
  });

  test("of a text model adds it at its price, by the name that the upstream has for it", () => {
    const model = found(own({ ...text, upstream_model: "Qwen/Qwen3-8B" }), "qwen3-8b");
    expect(model).toMatchObject({
      kind: ModelKind.TEXT,
      contextTokens: 32_768n,
      price: { rule: { case: "token", value: { inputPicoUsd: 50_000n, outputPicoUsd: 200_000n } } },
      routes: [{ provider: "vllm", upstreamModel: "Qwen/Qwen3-8B" }],
    });
    expect(found(own(text), "qwen3-8b").routes[0]?.upstreamModel).toBe("qwen3-8b");
  });

  test("of a text model names its routes, best first, each with its own name and price where it differs", () => {
    const routes = [
      {
        upstream: "main",
        upstream_model: "qwen/qwen3-8b",
        usd_per_million: { input: "0.06", output: "0.3" },
      },
      { upstream: "elsewhere" },
      { upstream: "vllm" },
    ];
    const model = found(own({ ...text, upstream_model: "Qwen/Qwen3-8B", routes }), "qwen3-8b");
    expect(model.routes.map(({ provider, upstreamModel }) => [provider, upstreamModel])).toEqual([
      ["main", "qwen/qwen3-8b"],
      ["vllm", "Qwen/Qwen3-8B"],
    ]);
    expect(model.price?.rule).toMatchObject({
      case: "token",
      value: {
        inputPicoUsd: 60_000n,
        outputPicoUsd: 300_000n,
        upstreams: [{ provider: "vllm", price: { inputPicoUsd: 50_000n, outputPicoUsd: 200_000n } }],
      },
    });
  });

  test("of a text model whose upstreams are not configured is checked, and left out", () => {
    const catalog = own({ ...text, routes: [{ upstream: "elsewhere" }] });
    expect(catalog.models.some(({ kind }) => kind === ModelKind.TEXT)).toBe(false);
    expect(catalog.added).toEqual(["qwen3-8b"]);
  });

  test("of a text model is checked, and left out, where there is no text upstream", () => {
    const files = [fileOf("mine.json", text)];
    const catalog = ownCatalog(seed, files, []);
    expect(catalog.models.some(({ kind }) => kind === ModelKind.TEXT)).toBe(false);
    expect(catalog.added).toEqual(["qwen3-8b"]);
  });
});

describe("a folder", () => {
  const others = UPSTREAMS.slice(0, 1);
  const wrong: [string, Loose, string][] = [
    [
      "a shipped model's name misspelt",
      { id: "acme/imag" },
      "acme/imag: id: no model with this id is shipped; to add",
    ],
    [
      "nobody to hide",
      { id: "acme/x", hidden: true },
      "acme/x: id: no model with this id is shipped; to hide",
    ],
    ["a new model without a price", { ...image, id: "ours/x", price: undefined }, "ours/x: price: "],
    ["an unknown member", { id: "acme/image", prise: {} }, 'acme/image: Unrecognized key: "prise"'],
    ["a row without an id", { name: "x" }, "models[0]: id: "],
    ["a model of another type", { id: "acme/image", type: "video" }, "acme/image: type: is image and cannot"],
    ["hidden said in words", { id: "acme/image", hidden: "yes" }, "acme/image: hidden: "],
    ["a new model without a vendor", { ...image, id: "x" }, 'x: id must begin with "x/"'],
    [
      "a price that has no price for what is accepted",
      { id: "acme/image", price: { ...priced("1"), tiers: [{ sizes: ["1024x1024"], usd: "1" }] } },
      "acme/image: price has no price for auto 1536x1024",
    ],
    [
      "a price below what was the price",
      { id: "acme/image", price: priced("0.039") },
      "acme/image: routes of fal: cost is above the price for auto 1024x1024",
    ],
    [
      "a price below a cost, and the same route written again without one",
      { id: "acme/image", price: priced("0.039"), routes: [image.routes[0]] },
      "acme/image: routes of fal: cost is above the price",
    ],
    [
      "a route that costs more than the price",
      { id: "acme/image", routes: [{ ...image.routes[0], cost: priced("0.05") }] },
      "acme/image: routes of fal: cost is above the price",
    ],
    [
      "a fixed price for what is billed by the token",
      { id: "acme/metered", price: priced("1") },
      "acme/metered: routes of acme: cost is by the token, so the price must be metered",
    ],
    [
      "a rate below the one that was the price",
      { id: "acme/metered", price: { ...tokens, usd_per_million: { input: "4", output: "60" } } },
      "acme/metered: routes of acme: cost is above the price for input",
    ],
    [
      "a bound below the one that was the price",
      { id: "acme/metered", price: { ...tokens, most_tokens: { tiers: [{ tokens: 1_000 }] } } },
      "acme/metered: routes of acme: cost is above the price for auto 1024x1024",
    ],
    [
      "a score of another board",
      { ...image, id: "ours/x", arena_score: { ...image.arena_score, board: "two" } },
      "ours/x: arena_score: must be of one of 2026-11-22",
    ],
    [
      "a text model with a number as price",
      { ...text, usd_per_million: { input: 1 } },
      "usd_per_million.input: must",
    ],
    [
      "a text model with an upstream twice",
      { ...text, routes: [{ upstream: "vllm" }, { upstream: "vllm" }] },
      "qwen3-8b: routes: name an upstream twice",
    ],
    [
      "a text model with an unknown member in a route",
      { ...text, routes: [{ provider: "vllm" }] },
      "qwen3-8b: routes[0]",
    ],
    ["a text model without a source", { ...text, source: "" }, "qwen3-8b: source: "],
  ];

  test.each(wrong)("with %s is refused by file, model, field and rule", (_what, row, sentence) => {
    const { problems } = readOwnCatalog(seed, [fileOf("mine.json", row)], UPSTREAMS);
    expect(problems).toEqual(expect.arrayContaining([expect.stringContaining(`mine.json: `)]));
    expect(problems.join("\n")).toContain(sentence);
    expect(() => own(row)).toThrow(/^The catalogue folder is not usable: mine\.json: /);
  });

  test("with text models is refused where the upstream says itself what they cost", () => {
    expect(() => ownCatalog(seed, [fileOf("mine.json", text)], others)).toThrow(
      "mine.json: qwen3-8b: type: text needs routes, or an upstream of kind openai or openai-compatible",
    );
  });

  test("with one model in two files is refused by both names", () => {
    const files = ["a.json", "b.json"].map((name) => fileOf(name, { id: "acme/image", hidden: true }));
    expect(() => ownCatalog(seed, files, UPSTREAMS)).toThrow(
      "b.json: acme/image: id: is there more than once, first in a.json",
    );
  });

  test("with no JSON, no models, or a vendor that is not that of its models is refused", () => {
    const refused = (content: string) =>
      readOwnCatalog(seed, [{ name: "mine.json", content }], UPSTREAMS).problems.join("\n");
    expect(refused("{")).toMatch(/^mine\.json: /);
    expect(refused('{ "models": [] }')).toMatch(/^mine\.json: models: /);
    const models = JSON.stringify([{ id: "acme/image", hidden: true }]);
    expect(refused(`{ "vendor": "other", "models": ${models} }`)).toBe(
      'mine.json: acme/image: id must begin with "other/", the vendor of the file',
    );
  });

  test("may hold shipped files as they are, which change nothing", async () => {
    const files = await readSeedFiles(SEED_DIRECTORY);
    const { problems, models } = readOwnCatalog(shipped, files, UPSTREAMS);
    expect(problems).toEqual([]);
    expect(models).toEqual(shipped.models);
  });

  test("is shown in docs/operations.md by an example that is right", async () => {
    const manual = await readFile(new URL("../../../../docs/operations.md", import.meta.url), "utf8");
    const content = /```json\n(\{\s+"models"[\s\S]*?)```/.exec(manual)?.[1] ?? "";
    const { problems, added, changed, hidden } = readOwnCatalog(
      shipped,
      [{ name: "mine.json", content }],
      UPSTREAMS,
    );
    expect(problems).toEqual([]);
    expect([added.length, changed.length, hidden.size].every((count) => count > 0)).toBe(true);
  });
});
