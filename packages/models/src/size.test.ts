// Guarantees of sizes: listed ones and those within the bounds are accepted, nothing else.
import { create } from "@bufbuild/protobuf";
import { ModelSchema } from "@gr/proto/catalog";
import { describe, expect, test } from "@jest/globals";
import { acceptsSize, parseSize } from "./size.ts";

test.each(["", "auto", "0x1", "1x0", "01x1", "1x", "x1", "1X1", " 1x1", "1x1 ", "1.5x1", "-1x1", "100000x1"])(
  "%j is no size",
  (text) => {
    expect(parseSize(text)).toBeUndefined();
  },
);

test("a size has a width and a height", () => {
  expect(parseSize("1536x1024")).toEqual({ width: 1536, height: 1024 });
});

describe("a model accepts", () => {
  const listed = create(ModelSchema, { sizes: ["auto", "1024x1024"] });
  const custom = create(ModelSchema, {
    sizes: ["auto"],
    customSize: {
      edgeMultiple: 16,
      minEdge: 256,
      maxEdge: 3840,
      minPixels: 655_360n,
      maxPixels: 8_294_400n,
      maxRatio: 3,
    },
  });

  test("the sizes that it lists", () => {
    expect(["auto", "1024x1024", "512x512", "nonsense"].map((size) => acceptsSize(listed, size))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test.each([
    ["1024x1024", true],
    ["3840x2160", true],
    ["2160x3840", true],
    ["640x1024", true],
    ["1025x1024", false],
    ["3856x2160", false],
    ["624x1024", false],
    ["3840x2176", false],
    ["3072x1024", true],
    ["3088x1024", false],
    ["240x3840", false],
    ["auto", true],
    ["wide", false],
  ])("%s within its bounds: %s", (size, accepted) => {
    expect(acceptsSize(custom, size)).toBe(accepted);
  });

  test("any size when its bounds bound nothing", () => {
    expect(acceptsSize(create(ModelSchema, { customSize: {} }), "99999x1")).toBe(true);
  });
});
