// Guarantees of the seed: the shipped files are complete and current, and every fault stops the start.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { priceOfImageRequest, priceOfVideoRequest } from "@gr/models";
import { type Model, ModelKind } from "@gr/proto/catalog";
import { OperatorError } from "@gr/runtime";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { loadSeed, SEED_DIRECTORY } from "./seed.ts";
import { readTextPriceList } from "./text-price-list.ts";

const TODAY = "2026-11-20";
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "catalogue-seed-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

const video = {
  id: "acme/film",
  type: "video",
  name: "Film",
  capabilities: ["text-to-video", "audio"],
  supported_parameters: ["prompt", "size", "seconds"],
  sizes: ["1280x720", "1920x1080"],
  qualities: [],
  seconds: [4, 8],
  default: { size: "1280x720", seconds: 4 },
  sources: [{ source: "acme.test/docs", as_of: "2026-11-01" }],
  release_date: null,
  shutdown_date: { value: "2027-01-01", source: "acme.test/lifecycle", as_of: "2026-11-01" },
  arena_score: null,
  price: {
    basis: "second",
    tiers: [{ sizes: ["1280x720"], usd: "0.05" }, { usd: "0.08" }],
    input_image_usd: "0.002",
    source: "acme.test/pricing",
    as_of: "2026-11-01",
  },
  routes: [
    { provider: "fal", upstream_model: "acme/film", priority: 2, cost: null },
    { provider: "acme", upstream_model: "film-1", priority: 1, cost: null },
  ],
};

type Loose = Record<string, unknown>;
const seedOf = (...models: Loose[]) => ({ vendor: "acme", models });

async function load(content: unknown, name = "acme.json"): Promise<Model[]> {
  await writeFile(join(directory, name), typeof content === "string" ? content : JSON.stringify(content));
  return loadSeed(directory, { sandbox: false });
}

describe("the shipped seed", () => {
  test("is valid, and lists nothing that was shut down", async () => {
    const models = await loadSeed(SEED_DIRECTORY, { sandbox: true });
    expect(models.length).toBeGreaterThan(0);
    for (const { shutdownDate } of models) expect(shutdownDate === "" || shutdownDate > TODAY).toBe(true);
  });

  test("does not have what research found shut down, or without a price or a source", async () => {
    const ids = (await loadSeed(SEED_DIRECTORY, { sandbox: true })).map(({ id }) => id);
    const gone = [
      ...["openai/dall-e-3", "openai/dall-e-2", "openai/gpt-image-1", "openai/sora-2", "openai/sora-2-pro"],
      ...["google/imagen-4", "google/veo-3.1", "google/veo-2", "google/gemini-2.5-flash-image"],
      ...[
        "lightricks/ltx-2-pro",
        "amazon/nova-canvas",
        "xai/grok-2-image",
        "xai/grok-imagine-image-quality",
        "bytedance/seedance-1.5-pro",
      ],
    ];
    const unpriced = ["black-forest-labs/flux-kontext-dev", "luma/uni-1"];
    expect(ids.filter((id) => [...gone, ...unpriced].includes(id))).toEqual([]);
  });

  test("scores every model of a type on one board of one day, with the credit that the data asks for", async () => {
    const scored = (await loadSeed(SEED_DIRECTORY, { sandbox: true })).flatMap(
      ({ arenaScore }) => arenaScore ?? [],
    );
    expect(scored.length).toBeGreaterThan(20);
    expect(new Set(scored.map(({ asOf }) => asOf))).toEqual(new Set(["2026-09-30"]));
    for (const { attribution } of scored) expect(attribution).toMatch(/arena\.ai.*CC-BY 4\.0/);
  });

  test("has the sandbox models only where they are asked for", async () => {
    const ids = async (sandbox: boolean) =>
      (await loadSeed(SEED_DIRECTORY, { sandbox }))
        .map(({ id }) => id)
        .filter((id) => id.startsWith("sandbox/"));
    expect(await ids(false)).toEqual([]);
    expect((await ids(true)).sort()).toEqual([
      "sandbox/image",
      "sandbox/image-blocked",
      "sandbox/image-edit",
      "sandbox/image-error",
      "sandbox/image-free",
      "sandbox/image-hang",
      "sandbox/video",
      "sandbox/video-blocked",
      "sandbox/video-error",
      "sandbox/video-from-image",
      "sandbox/video-hang",
    ]);
  });

  test("prices gpt-image-2 by the token, and bounds it by the prompt's bytes and the tokens of its largest image", async () => {
    const models = await loadSeed(SEED_DIRECTORY, { sandbox: true });
    const model = models.find(({ id }) => id === "openai/gpt-image-2");
    const price = model?.price;
    if (price === undefined) throw new Error("not listed");
    const prompt = "x".repeat(20_000);
    const of = (quality: string, size: string, images = 1) =>
      priceOfImageRequest(price, { images, quality, size, promptBytes: prompt.length });
    // 64 tokens of input are a margin, and each byte of the prompt may be a token.
    const input = (20_000n + 64n) * 5_000_000n;
    expect(of("low", "1024x1024")).toBe(196n * 30_000_000n + input);
    expect(of("medium", "1024x1024", 3)).toBe(3n * (1_756n * 30_000_000n + input));
    expect(of("high", "1024x1536")).toBe(5_488n * 30_000_000n + input);
    expect(of("high", "3840x2160")).toBe(23_719n * 30_000_000n + input);
    expect(model?.routes[0]?.cost?.rule).toMatchObject({
      case: "token",
      value: { inputPicoUsd: 5_000_000n, imageInputPicoUsd: 8_000_000n, outputPicoUsd: 30_000_000n },
    });
  });

  test("prices sandbox images at 0.01 USD, the free one at nothing, video at 0.05 USD a second", async () => {
    const models = await loadSeed(SEED_DIRECTORY, { sandbox: true });
    const video = models.find(({ id }) => id === "sandbox/video")?.price;
    if (video === undefined) throw new Error("no sandbox video");
    const asked = { seconds: 7, quality: "auto", size: "720x1280" };
    expect(priceOfVideoRequest(video, asked)).toBe(350_000_000_000n);
    for (const { id, price, routes } of models.filter(({ id }) => id.startsWith("sandbox/image"))) {
      const expected = id === "sandbox/image-free" ? 0n : 10_000_000_000n;
      if (price === undefined) throw new Error("no price");
      expect(priceOfImageRequest(price, { images: 1, quality: "auto", size: "auto" })).toBe(expected);
      expect(routes).toMatchObject([{ provider: "openai", upstreamModel: id }]);
      expect(routes[0]?.cost).toBeUndefined();
    }
  });
});

describe("a seed file", () => {
  test("may have videos, routes in order of priority, and dates at which a model goes", async () => {
    const [model] = await load(seedOf(video));
    expect(model).toMatchObject({
      id: "acme/film",
      kind: ModelKind.VIDEO,
      ownedBy: "acme",
      seconds: [4, 8],
      defaultSeconds: 4,
      shutdownDate: "2027-01-01",
    });
    expect(model?.routes.map(({ provider }) => provider)).toEqual(["acme", "fal"]);
    if (model?.price === undefined) throw new Error("no price");
    const of = (size: string, inputImages: number) =>
      priceOfVideoRequest(model.price ?? fail(), { seconds: 8, quality: "auto", size, inputImages });
    expect(of("1280x720", 0)).toBe(400_000_000_000n);
    expect(of("1920x1080", 1)).toBe(642_000_000_000n);
  });

  test("may give lengths as a range, and say what its provider calls our values", async () => {
    const parameters = {
      always: { watermark: false },
      size: {
        "1280x720": { ratio: "16:9", resolution: "720p" },
        "1920x1080": { ratio: "16:9", resolution: "1080p" },
      },
    };
    const routes = [{ ...video.routes[1], parameters }];
    const [model] = await load(seedOf({ ...video, seconds: { min: 3, max: 6 }, routes }));
    expect(model?.seconds).toEqual([3, 4, 5, 6]);
    expect(model?.routes[0]?.parameters).toMatchObject([
      { parameter: "", value: "", fields: { watermark: false } },
      { parameter: "size", value: "1280x720", fields: { ratio: "16:9", resolution: "720p" } },
      { parameter: "size", value: "1920x1080", fields: { ratio: "16:9", resolution: "1080p" } },
    ]);
  });

  test("may price by area, by clip, by pixels and by input images", async () => {
    const sourced = { source: "acme.test", as_of: TODAY };
    const { seconds: _, ...imageDefault } = video.default;
    const image = {
      ...video,
      type: "image",
      capabilities: ["text-to-image"],
      seconds: [],
      default: imageDefault,
    };
    const models = await load(
      seedOf(
        {
          ...image,
          id: "acme/area",
          custom_size: { edge_multiple: 16, max_edge: 4096, max_ratio: 3, ...sourced },
          price: {
            basis: "megapixel",
            unit_pixels: 1_000_000,
            first_usd: "0.03",
            further_usd: "0.015",
            ...sourced,
          },
        },
        {
          ...image,
          id: "acme/pixels",
          price: {
            basis: "image",
            tiers: [{ max_pixels: 1_000_000, usd: "0.045" }, { usd: "0.09" }],
            input_image_usd: "0.003",
            free_input_images: 1,
            ...sourced,
          },
        },
        {
          ...video,
          id: "acme/clip",
          price: {
            basis: "clip",
            tiers: [
              { seconds: [4], usd: "0.28" },
              { seconds: [8], usd: "0.56" },
            ],
            ...sourced,
          },
        },
      ),
    );
    const price = (id: string) => models.find((model) => model.id === id)?.price ?? fail();
    const asked = { images: 2, quality: "auto", size: "1920x1080", inputImages: 3 };
    expect(priceOfImageRequest(price("acme/area"), asked)).toBe(2n * 60_000_000_000n);
    expect(priceOfImageRequest(price("acme/pixels"), asked)).toBe(2n * 96_000_000_000n);
    const clip = { seconds: 8, quality: "auto", size: "1280x720" };
    expect(priceOfVideoRequest(price("acme/clip"), clip)).toBe(560_000_000_000n);
  });

  const wrong: [string, unknown, RegExp][] = [
    ["no JSON", "{", /acme\.json: /],
    ["an unknown field", seedOf({ ...video, colour: "red" }), /acme\.json: acme\/film: .*colour/],
    ["a model without an id", seedOf({ ...video, id: undefined }), /acme\.json: models\[0\]: id: /],
    ["an id that leads elsewhere", seedOf({ ...video, id: "acme/../film" }), /id: /],
    [
      "a name that turns the text around it",
      seedOf({ ...video, name: "Film \u202emlif" }),
      /acme\/film: name: must have no control characters and no marks that turn/,
    ],
    [
      "an amount that is a number",
      withPrice({ usd: 0.05 }),
      /acme\.json: acme\/film: price\.tiers\[0\]\.usd: must be a decimal string/,
    ],
    [
      "an amount finer than 1e-12 USD",
      withPrice({ usd: "0.0000000000001" }),
      /usd: "0\.0000000000001" is not an exact amount/,
    ],
    ["a negative amount", withPrice({ usd: "-1" }), /usd: "-1" is not/],
    ["an absurd amount", withPrice({ usd: "20000" }), /usd: "20000" is not/],
    [
      "a price without a source",
      seedOf({ ...video, price: { ...video.price, source: "" } }),
      /price\.source/,
    ],
    [
      "a price without a date",
      seedOf({ ...video, price: { ...video.price, as_of: "soon" } }),
      /price\.as_of: must be a date/,
    ],
    ["a date without a source", seedOf({ ...video, release_date: "2026-01-01" }), /release_date/],
    ["abilities without a source", seedOf({ ...video, sources: [] }), /acme\/film: sources: /],
    [
      "abilities without a date",
      seedOf({ ...video, sources: [{ source: "acme.test/docs" }] }),
      /acme\/film: sources\[0\]\.as_of: must be a date/,
    ],
    [
      "a range of lengths from its end to its start",
      seedOf({ ...video, seconds: { min: 8, max: 4 } }),
      /seconds: must be a list, or a range with min not/,
    ],
    ["a size that is none", seedOf({ ...video, sizes: ["720p"] }), /sizes\[0\]/],
    ["a length beyond a minute", seedOf({ ...video, seconds: { min: 4, max: 61 } }), /seconds/],
    ["a capability nobody knows", seedOf({ ...video, capabilities: ["teleport"] }), /capabilities\[0\]/],
    ["no route", seedOf({ ...video, routes: [] }), /routes/],
    [
      "a size that its provider has no name for",
      seedOf(withMapping({ "1280x720": { resolution: "720p" } })),
      /acme\/film: routes of fal: parameters\.size must map 1920x1080 too/,
    ],
    [
      "a name for a size that is not accepted",
      seedOf(withMapping({ "1280x720": {}, "1920x1080": {}, "640x360": {} })),
      /parameters\.size maps 640x360, which is not accepted/,
    ],
    [
      "images taken but not as a parameter",
      seedOf({ ...video, capabilities: ["image-to-video"] }),
      /supported_parameters must have "image"/,
    ],
    [
      "a mask parameter without the ability",
      seedOf({ ...video, supported_parameters: [...video.supported_parameters, "mask"] }),
      /supported_parameters must have "mask"/,
    ],
    [
      "sizes that the price does not cover",
      withPrice({ sizes: ["1280x720"], usd: "1" }),
      /price has no price for auto 1920x1080 4 s/,
    ],
    [
      "free sizes that the price does not cover",
      seedOf({ ...video, ...freeSizes() }),
      /no price for .*auto 99999x99999/,
    ],
    [
      "silent videos that the price does not cover",
      withPrice({ audio: true, usd: "1" }),
      /price has no price for auto 1280x720 4 s/,
    ],
    [
      "a price of a size that is not accepted",
      withPrice({ sizes: ["1290x720"], usd: "1" }, { usd: "2" }),
      /price has a tier for 1290x720, which is not accepted/,
    ],
    [
      "a price of a quality that is not accepted",
      withPrice({ quality: "high", usd: "1" }, { usd: "2" }),
      /price has a tier for high, which is not accepted/,
    ],
    [
      "a price of a length that is not accepted",
      seedOf({
        ...video,
        price: {
          basis: "clip",
          tiers: [{ seconds: [4, 9], usd: "1" }, { usd: "2" }],
          source: "acme.test/pricing",
          as_of: "2026-11-01",
        },
      }),
      /price has a tier for 9, which is not accepted/,
    ],
    [
      "a price that an earlier one hides",
      withPrice({ usd: "1" }, { sizes: ["1280x720"], usd: "2" }),
      /price has tiers after one that always holds/,
    ],
    [
      "a default that is not accepted",
      seedOf({ ...video, default: { size: "1024x1024", seconds: 4 } }),
      /default\.size must be one/,
    ],
    [
      "a default length that is not accepted",
      seedOf({ ...video, default: { size: "1280x720", seconds: 5 } }),
      /default\.seconds must be one/,
    ],
    [
      "a default that is not sold together",
      seedOf({ ...video, combinations: [{ sizes: ["1920x1080"] }, { seconds: [8] }] }),
      /default must be one of the combinations/,
    ],
    [
      "a default that is not sold with as many images as it takes",
      seedOf({
        ...{ ...video, capabilities: ["text-to-video", "reference-to-video"] },
        supported_parameters: [...video.supported_parameters, "image"],
        combinations: [{ max_input_images: 1 }, { seconds: [8] }],
      }),
      /default must be one of the combinations/,
    ],
    [
      "a video without a default length",
      seedOf({ ...video, default: { size: "1280x720" } }),
      /default\.seconds is needed/,
    ],
    [
      "an image price for a video",
      seedOf({ ...video, price: { ...video.price, basis: "image" } }),
      /no price/,
    ],
    ["an id of another vendor", seedOf({ ...video, id: "other/film" }), /id must begin with "acme\/"/],
    ["one id twice", seedOf(video, video), /acme\/film is there more than once/],
    [
      "scores of two boards",
      seedOf(scored("a/1", "board 1"), scored("a/2", "board 2")),
      /scores of different boards/,
    ],
  ];

  test.each(wrong)("with %s stops the start, and the message says where", async (_what, content, message) => {
    const attempt = load(content);
    await expect(attempt).rejects.toThrow(OperatorError);
    await expect(attempt).rejects.toThrow(message);
  });

  test("must be named after its vendor, so that a vendor is looked for in one place", async () => {
    await expect(load(seedOf(video), "other.json")).rejects.toThrow(
      /must be named after its vendor, acme\.json/,
    );
  });

  test("is checked even when its models are left out", async () => {
    const sandbox = JSON.parse(await readFile(join(SEED_DIRECTORY, "sandbox.json"), "utf8"));
    sandbox.models[0].price.tiers[0].usd = "free";
    await expect(load(sandbox, "sandbox.json")).rejects.toThrow(
      /sandbox\.json: sandbox\/image: price\.tiers\[0\]\.usd/,
    );
  });
});

function withPrice(...tiers: Loose[]) {
  return seedOf({ ...video, price: { ...video.price, tiers } });
}

function withMapping(size: Loose): Loose {
  return { ...video, routes: [{ ...video.routes[0], parameters: { size } }] };
}

function freeSizes() {
  return {
    custom_size: { max_edge: 2048, source: "acme.test", as_of: TODAY },
    price: { ...video.price, tiers: [{ sizes: video.sizes, usd: "1" }] },
  };
}

function scored(id: string, board: string) {
  const arena_score = { value: 1_200, board, entry: id, source: "acme.test", as_of: TODAY };
  return { ...video, id: `acme/${id}`, arena_score };
}

function fail(): never {
  throw new Error("missing");
}

test("the price list of text models has the simulator's, at the simulator's prices", async () => {
  const list = await readTextPriceList(undefined);
  expect(list.get("sandbox/chat")?.prices).toMatchObject({ input: 500_000n, output: 1_500_000n });
  expect(list.get("sandbox/chat-vision")?.prices).toMatchObject({ input: 1_000_000n, output: 3_000_000n });
});

test("the price list of text models has OpenAI's, as its source has them", async () => {
  const list = await readTextPriceList(undefined);
  expect(list.get("gpt-4.1-mini")?.prices).toMatchObject({
    ...{ input: 400_000n, cachedInput: 100_000n, output: 1_600_000n },
  });
});
