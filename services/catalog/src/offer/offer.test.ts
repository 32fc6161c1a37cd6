// Guarantees of the offer: every listed model has a provider here, and every promised ability has one.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import { ManualClock, until } from "@gr/testing";
import { describe, expect, test } from "@jest/globals";
import { catalogConfig } from "../config.ts";
import { loadSeed, SEED_DIRECTORY } from "../files/seed.ts";
import { startCatalog } from "../test/start-catalog.ts";
import { offeredModels } from "./offer.ts";

const providersOf = (text: string) => catalogConfig.shape.MEDIA_PROVIDERS.parse(text);

function model(kind: ModelKind, capabilities: string[], ...providers: string[]): Model {
  return create(ModelSchema, {
    id: "acme/model",
    kind,
    capabilities,
    supportedParameters: ["prompt", "image", "mask", "size"],
    limits: { inputImages: 4, promptCharacters: 100 },
    routes: providers.map((provider) => ({ provider, upstreamModel: `${provider}-name` })),
  });
}

const image = (...providers: string[]) =>
  model(ModelKind.IMAGE, ["text-to-image", "image-edit", "mask"], ...providers);
const shown = (one: Model, providers: string) => offeredModels([one], providersOf(providers))[0];

describe("a model", () => {
  test.each([
    ["", undefined],
    ["fal/image", undefined],
    ["openai/video", undefined],
    ["openai/image-input", undefined],
    ["openai/image", ["openai"]],
    ["fal/image,openai/image", ["openai"]],
    ["xai/image, openai/image ,", ["openai", "xai"]],
  ])("of openai and xai is offered by %j through %j", (providers, routes) => {
    const one = model(ModelKind.IMAGE, ["text-to-image"], "openai", "xai");
    expect(shown(one, providers)?.routes.map(({ provider }) => provider)).toEqual(routes);
  });

  test("that makes videos needs somebody who makes videos", () => {
    const video = model(ModelKind.VIDEO, ["text-to-video"], "xai");
    expect(shown(video, "xai/image,xai/image-input")).toBeUndefined();
    expect(shown(video, "xai/video")).toBeDefined();
  });

  test("promises to take images only where a provider of it does", () => {
    expect(shown(image("openai"), "openai/image")).toMatchObject({
      capabilities: ["text-to-image"],
      supportedParameters: ["prompt", "size"],
      limits: { inputImages: 0, promptCharacters: 100 },
    });
    expect(shown(image("openai"), "openai/image,openai/image-input")).toMatchObject({
      capabilities: ["text-to-image", "image-edit", "mask"],
      supportedParameters: ["prompt", "image", "mask", "size"],
      limits: { inputImages: 4 },
    });
  });

  test("that takes images is served by none who does not", () => {
    const both = shown(image("openai", "fal"), "openai/image,fal/image,fal/image-input");
    expect(both?.routes.map(({ provider }) => provider)).toEqual(["fal"]);
    expect(both?.capabilities).toContain("image-edit");
  });

  test("has partial images only where a provider of it sends them", () => {
    const streaming = image("openai", "fal");
    streaming.supportedParameters.push("partial_images");
    const withPartials = (providers: string) =>
      shown(streaming, providers)?.supportedParameters.includes("partial_images");
    expect(withPartials("openai/image,openai/image-input,fal/image,fal/image-input")).toBe(true);
    expect(withPartials("openai/image")).toBe(true);
    expect(withPartials("fal/image,fal/image-input")).toBe(false);
  });

  test("that makes nothing from words alone is not offered where no image can be brought", () => {
    const edit = model(ModelKind.IMAGE, ["image-edit", "mask"], "bfl");
    expect(shown(edit, "bfl/image")).toBeUndefined();
    expect(shown(edit, "bfl/image,bfl/image-input")).toBeDefined();
  });
});

test("the seed keeps what is not offered, and an offer does not change it", async () => {
  const seed = await loadSeed(SEED_DIRECTORY, { sandbox: true });
  const before = seed.map((one) => one.routes.length);
  expect(offeredModels(seed, providersOf("")).length).toBe(0);
  const ids = offeredModels(seed, providersOf("openai/image")).map(({ id }) => id);
  expect(ids).toContain("openai/gpt-image-2");
  expect(ids).not.toContain("sandbox/video");
  expect(seed.map((one) => one.routes.length)).toEqual(before);
  const all = [...new Set(seed.flatMap(({ routes }) => routes.map(({ provider }) => provider)))];
  const everything = all.flatMap((name) => [`${name}/image`, `${name}/video`, `${name}/image-input`]);
  expect(offeredModels(seed, providersOf(everything.join(","))).length).toBe(seed.length);
});

test.each(["openai", "openai/pictures", "/image", "openai/image/video"])(
  "%j is no provider with an ability, and stops the start",
  (text) => {
    expect(() => providersOf(text)).toThrow(/must be <provider>\/<ability>/);
  },
);

test("a model goes from the list on the day that its vendor shuts it down, without a restart", async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 30, 23, 59, 59));
  const world = await startCatalog({ clock });
  try {
    expect(await world.ids()).toContain("openai/gpt-image-1.5");
    clock.advance(1_000);
    await until(async () => !(await world.ids()).includes("openai/gpt-image-1.5"), { timeoutMs: 60_000 });
    expect(await world.ids()).toEqual([
      "openai/gpt-image-2",
      ...["openai/gpt-image-2.5-flare", "openai/gpt-image-2.5-sunburst"],
      ...["openai/gpt-image-2.6-flare", "openai/gpt-image-2.6-sunburst"],
    ]);
    expect((await world.get("/v1/models/openai/gpt-image-1.5")).status).toBe(404);
  } finally {
    await world.stop();
    await world.database.drop();
  }
});

test("without providers nothing is listed that only they could make", async () => {
  const world = await startCatalog({ env: { MEDIA_PROVIDERS: "", SANDBOX_MODELS: "true" } });
  try {
    expect(await world.ids()).toEqual([]);
    expect((await world.get("/v1/models/openai/gpt-image-2")).status).toBe(404);
  } finally {
    await world.stop();
    await world.database.drop();
  }
});
