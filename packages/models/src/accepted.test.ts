// Guarantees of combinations: a request fits one or is refused, and images in the request may change the defaults.
import { create } from "@bufbuild/protobuf";
import { ModelSchema } from "@gr/proto/catalog";
import { expect, test } from "@jest/globals";
import { acceptsTogether, defaultsOf } from "./accepted.ts";

const hailuo = create(ModelSchema, {
  combinations: [
    { sizes: ["1366x768"] },
    { sizes: ["1920x1080"], seconds: [6] },
    { sizes: ["912x512"], inputImages: true },
  ],
});

test.each([
  [{ size: "1366x768", seconds: 10 }, true],
  [{ size: "1920x1080", seconds: 6 }, true],
  [{ size: "1920x1080", seconds: 10 }, false],
  [{ size: "912x512", seconds: 10 }, false],
  [{ size: "912x512", seconds: 10, inputImages: 1 }, true],
  [{ seconds: 6 }, false],
])("%j together: %s", (asked, expected) => {
  expect(acceptsTogether(hailuo, asked)).toBe(expected);
});

const grok = create(ModelSchema, {
  combinations: [{ maxInputImages: 1 }, { seconds: [1, 10] }],
});

test.each([
  [{ seconds: 15 }, true],
  [{ seconds: 15, inputImages: 1 }, true],
  [{ seconds: 15, inputImages: 2 }, false],
  [{ seconds: 10, inputImages: 7 }, true],
])("%j, where several images make shorter videos than one: %s", (asked, expected) => {
  expect(acceptsTogether(grok, asked)).toBe(expected);
});

test("a model without combinations sells everything together", () => {
  expect(acceptsTogether(create(ModelSchema, {}), { size: "1x1" })).toBe(true);
});

test("images along may change what auto stands for, and what they leave out stays", () => {
  const model = create(ModelSchema, {
    ...{ defaultSize: "1024x1024", defaultQuality: "low" },
    defaultWithImages: { quality: "medium" },
  });
  expect(defaultsOf(model, 0)).toEqual({ size: "1024x1024", quality: "low", seconds: 0 });
  expect(defaultsOf(model, 2)).toEqual({ size: "1024x1024", quality: "medium", seconds: 0 });
});
