// Guarantees of the seed's prices as a whole: each model has a golden row, and its price is the row's.
import { isExact, priceOfImageRequest, priceOfVideoRequest } from "@gr/models";
import { parsePicoUsd } from "@gr/money";
import { type Model, ModelKind } from "@gr/proto/catalog";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { loadSeed, SEED_DIRECTORY } from "./files/seed.ts";
import { defaultPriceOf } from "./prices/model-pricing.ts";
import { GOLDEN_PRICES } from "./test/golden-prices.ts";

let seed: ReadonlyMap<string, Model>;
beforeAll(async () => {
  seed = new Map((await loadSeed(SEED_DIRECTORY, { sandbox: true })).map((model) => [model.id, model]));
});

/** @param asked in the form of the golden rows: "1280x720 high 8s" */
function priced(model: Model, asked: string, images: number, inputImages: number): bigint | undefined {
  if (model.price === undefined) throw new Error(`${model.id} has no price`);
  const words = asked.split(" ");
  const size = words.find((word) => /^\d+x\d+$/.test(word)) ?? "auto";
  const quality = words.find((word) => ["low", "medium", "high"].includes(word)) ?? "auto";
  const seconds = Number(words.find((word) => /^\d+s$/.test(word))?.slice(0, -1) ?? 0);
  return model.kind === ModelKind.VIDEO
    ? priceOfVideoRequest(model.price, { size, quality, seconds, inputImages })
    : priceOfImageRequest(model.price, { size, quality, images, inputImages });
}

const find = (id: string): Model => seed.get(id) ?? fail(id);

function fail(id: string): never {
  throw new Error(`${id} is not in the seed`);
}

describe.each(GOLDEN_PRICES)("%s", (id, asked, usd, largerAsked, images, inputs, largerUsd) => {
  test(`costs ${usd} USD as asked by default (${asked}), and so says the list`, () => {
    const needed = asked.split(" ").includes("image") ? 1 : 0;
    expect(priced(find(id), asked, 1, needed)).toBe(parsePicoUsd(usd));
    const { price } = find(id);
    if (price !== undefined && isExact(price)) expect(defaultPriceOf(find(id))).toBe(parsePicoUsd(usd));
  });

  test(`costs ${largerUsd} USD for ${images} of ${largerAsked} with ${inputs} input images`, () => {
    expect(priced(find(id), largerAsked, images, inputs)).toBe(parsePicoUsd(largerUsd));
  });
});

test("every model of the seed has a golden row, and nothing else has one", () => {
  expect(GOLDEN_PRICES.map(([id]) => id).sort()).toEqual([...seed.keys()].sort());
});
