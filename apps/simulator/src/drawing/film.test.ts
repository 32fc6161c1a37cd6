// The videos have the ordered length and size, another picture each second, and a format that players accept.
import { readMp4 } from "@gr/testing/mp4";
import { expect, test } from "@jest/globals";
import { drawFilm } from "./film.ts";

const order = { prompt: "a red fox", caption: "sandbox/video", seed: "seed", index: 0 };
const { signal } = new AbortController();

test.each([
  [64, 36, 3, 3],
  [36, 64, 1, 1],
  [65, 37, 2.5, 3],
])("a video of %ix%i and %d seconds is that, in %i pictures", async (width, height, seconds, pictures) => {
  const { samples, ...facts } = readMp4(await drawFilm({ ...order, width, height, seconds }, signal));
  expect(facts).toEqual({ brand: "isom", codec: "av01", width, height, seconds });
  expect(samples).toHaveLength(pictures);
  // A sequence header first, so that playback can start anywhere; and no two seconds have the same picture.
  expect(samples.map((sample) => sample[0])).toEqual(samples.map(() => 0x0a));
  expect(new Set(samples.map((sample) => sample.toString("base64"))).size).toBe(pictures);
});
