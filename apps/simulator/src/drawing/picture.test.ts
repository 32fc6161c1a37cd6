// The pictures show the ordered contents in the ordered format.
import { describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { FALLBACK_GLYPH, GLYPHS, GRID } from "./glyphs.ts";
import { foldText, setText } from "./lettering.ts";
import { composePicture, drawPicture, type PictureOrder } from "./picture.ts";

const order: PictureOrder = {
  prompt: "a red fox",
  caption: "sandbox/image 1024x1024",
  seed: "seed",
  index: 0,
  width: 1024,
  height: 1024,
  format: "png",
  compression: 100,
  transparent: false,
};

/** Width in pixels of a line set at a scale. */
function widthOf(line: string, scale: number): number {
  let units = 0;
  for (const character of line) {
    units += character === " " ? GRID.space : (GLYPHS.get(character) ?? FALLBACK_GLYPH)[0] + GRID.letterGap;
  }
  return units * scale;
}

describe("the font", () => {
  test("has a glyph of its own for every printable ASCII character", () => {
    const ascii = Array.from({ length: 126 - 32 }, (_, at) => String.fromCharCode(33 + at));
    expect(ascii.filter((character) => !GLYPHS.has(character))).toEqual([]);
    expect(new Set([...GLYPHS.values()].map(([, path]) => path)).size).toBe(ascii.length);
  });

  test("stands in for accents and typographic signs, and shows a box for the rest", () => {
    expect(foldText("naïve “café” – straße…")).toBe('naive "cafe" - strasse...');
    expect(setText("狐", 100, 100, 5, 1).path).toContain(FALLBACK_GLYPH[1]);
  });
});

describe("a text", () => {
  test("never leaves its box, and ends in an ellipsis when it is too long for it", () => {
    for (const text of ["fox", "The quick brown fox. ".repeat(40), "x".repeat(3000), "word ".repeat(5000)]) {
      const set = setText(text, 800, 700, 8, 1.5);
      expect(set.height).toBeLessThanOrEqual(700);
      expect(Math.max(...set.lines.map((line) => widthOf(line, set.scale)))).toBeLessThanOrEqual(800);
      if (text.length > 2000) expect(set.lines.at(-1)).toMatch(/\.\.\.$/);
    }
  });

  test("keeps whole words and line breaks", () => {
    expect(setText("one two\nthree", 800, 700, 3, 1).lines).toEqual(["one two", "three"]);
  });
});

describe("a picture", () => {
  test("shows the prompt without letting any of it into the markup", () => {
    const markup = composePicture({ ...order, prompt: '</svg><script>&"evil"' });
    expect(markup).not.toContain("script");
    expect(markup).not.toContain("&");
    for (const character of "sript") expect(markup).toContain(GLYPHS.get(character)?.[1]);
  });

  test("differs by prompt, index and seed, and is reproducible", () => {
    const others = [{ prompt: "a blue fox" }, { index: 1 }, { seed: "other" }];
    const markups = others.map((other) => composePicture({ ...order, ...other }));
    expect(new Set([composePicture(order), ...markups]).size).toBe(4);
    expect(composePicture(order)).toBe(composePicture(order));
  });

  test("really carries readable strokes: light pixels where the text stands, none above it", async () => {
    const picture = sharp(await drawPicture({ ...order, prompt: "MMMMMM" })).greyscale();
    const middle = { left: 200, top: 450, width: 624, height: 100 };
    const above = { left: 200, top: 100, width: 624, height: 100 };
    const brightest = async (box: typeof middle) =>
      (
        await sharp(await picture.clone().extract(box).raw().toBuffer(), {
          raw: { width: box.width, height: box.height, channels: 1 },
        }).stats()
      ).channels[0]?.max;
    expect(await brightest(middle)).toBeGreaterThan(245);
    expect(await brightest(above)).toBeLessThan(220);
  });

  test("can be transparent around its card", async () => {
    const { channels } = await sharp(await drawPicture({ ...order, transparent: true })).stats();
    expect(channels[3]?.min).toBe(0);
    expect(channels[3]?.max).toBe(255);
  });
});
