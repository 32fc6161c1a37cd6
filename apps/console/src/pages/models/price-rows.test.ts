// Guarantee of prices in words: each amount of a rule is a row with its conditions, exact, and conditions that do not apply are
// absent.
import { expect, test } from "@jest/globals";
import { priceRows } from "./price-rows.ts";

const ANY = { quality: null, sizes: null, max_pixels: null, seconds: null, audio: null, with_images: null };

test("tiers of images and input images", () => {
  const rows = priceRows({
    unit: "image",
    tiers: [
      { ...ANY, quality: "low", sizes: ["1024x1024", "1024x1536"], price: "0.011000000000" },
      { ...ANY, max_pixels: 4_194_304, with_images: true, price: "0.25" },
    ],
    ...{ input_image: "0.005", free_input_images: 1, input_images: { per: "image", unit_pixels: null } },
  });
  expect(rows.map(({ what, price }) => `${what}: ${price}`)).toEqual([
    "Each image, low quality, 1024x1024 or 1024x1536: $0.011",
    "Each image, up to 4.19 megapixels, with input images: $0.25",
    "Each input image beyond the first one: $0.005",
  ]);
  expect(JSON.stringify(rows)).not.toContain("null");
});

test("videos by clip, and images by area", () => {
  const clip = {
    unit: "clip",
    tiers: [{ ...ANY, seconds: [5, 10], audio: false, price: "0.35" }],
    input_image: "0",
  };
  expect(priceRows(clip)).toEqual([{ what: "Each video, 5 or 10 s, without sound", price: "$0.35" }]);
  const area = {
    unit: "megapixel",
    unit_pixels: 1_000_000,
    first: "0.03",
    further: "0.015",
    input_image: "0",
  };
  expect(priceRows(area).map(({ what }) => what)).toEqual([
    "Each image, first 1 megapixel",
    "Each further 1 megapixel",
  ]);
});

test("tokens: a meter is shown if its price differs, per million; tiers of service follow", () => {
  const rows = priceRows({
    unit: "token",
    ...{ input: "0.000001250000", cached_input: "0.000000125", cache_write: "0.000001250000" },
    ...{ image_input: "0.000001250000", audio_input: "0.000001250000", output: "0.00001" },
    ...{ reasoning: "0.00001", image_output: "0.00001", audio_output: "0.00001", request: "0" },
    tools: { web_search_call: "0.01" },
    cases: [{ tier: "priority", above_input_tokens: 0, input: "0.0000025", output: "0.00002" }],
  });
  expect(rows.map(({ what, price }) => `${what}: ${price}`)).toEqual([
    "Input tokens, per million: $1.25",
    "Input tokens from the cache, per million: $0.125",
    "Output tokens, per million: $10.00",
    "Each call of web search call: $0.01",
    "tier priority: Input tokens, per million: $2.50",
    "tier priority: Output tokens, per million: $20.00",
  ]);
});

test("a cost that the provider reports has its bound", () => {
  const most = { unit: "image", tiers: [{ ...ANY, price: "0.5" }], input_image: "0" };
  expect(priceRows({ unit: "reported", default_request: "0.04", most })).toEqual([
    { what: "A usual request", price: "about $0.04" },
    { what: "Each image, as the provider bills it", price: "up to $0.50" },
  ]);
});
