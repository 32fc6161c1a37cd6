// Pictures of providers: bytes that are no picture are refused, and a picture has no foreign data afterwards.
import { describe, expect, test } from "@jest/globals";
import sharp from "sharp";
import { createMediaGates } from "../generation/media-gates.ts";
import { drawPicture } from "../test/pictures.ts";
import { createImageConverter, InvalidImageError } from "./image-file.ts";

const convert = createImageConverter(createMediaGates().results);

describe("converting a picture", () => {
  test.each(["png", "jpeg", "webp"] as const)(
    "makes %s of every format that providers send",
    async (format) => {
      for (const source of ["png", "jpeg", "webp"] as const) {
        const file = await convert(await drawPicture(source, { width: 40, height: 30 }), format, "account");
        expect(file).toMatchObject({ format, width: 40, height: 30 });
        expect(await sharp(file.bytes).metadata()).toMatchObject({ format, width: 40, height: 30 });
      }
    },
  );

  test("strips metadata and whatever hangs on the end", async () => {
    const tagged = await sharp(await drawPicture("jpeg"))
      .withExif({ IFD0: { Copyright: "canary-1234", ImageDescription: "<script>canary-1234</script>" } })
      .jpeg()
      .toBuffer();
    const polyglot = Buffer.concat([tagged, Buffer.from("<?php canary-1234 ?>")]);
    expect(polyglot.toString("latin1")).toContain("canary-1234");
    for (const format of ["png", "jpeg", "webp"] as const) {
      const { bytes } = await convert(polyglot, format, "account");
      expect(bytes.toString("latin1")).not.toContain("canary-1234");
      expect((await sharp(bytes).metadata()).exif).toBeUndefined();
    }
  });

  test("keeps transparency where the format has it", async () => {
    const clear = await sharp({ create: { width: 4, height: 4, channels: 4, background: "#0000" } })
      .png()
      .toBuffer();
    expect((await sharp((await convert(clear, "webp", "account")).bytes).metadata()).hasAlpha).toBe(true);
    const { data } = await sharp((await convert(clear, "jpeg", "account")).bytes)
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect(data[0]).toBeGreaterThan(250);
  });

  test("refuses what is no picture, and formats that providers do not send", async () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    for (const bytes of [Buffer.alloc(0), Buffer.from("hello"), svg, await drawPicture("gif")]) {
      await expect(convert(bytes, "png", "account")).rejects.toThrow(InvalidImageError);
    }
  });

  test("refuses a picture that is cut short or damaged", async () => {
    const whole = await drawPicture("png", { width: 200, height: 200 });
    await expect(convert(whole.subarray(0, whole.length - 40), "png", "account")).rejects.toThrow(
      InvalidImageError,
    );
    await expect(convert(whole.subarray(0, 8), "png", "account")).rejects.toThrow(InvalidImageError);
  });

  test("refuses a bomb: few bytes, too many pixels", async () => {
    const bomb = await sharp({ create: { width: 8_000, height: 7_000, channels: 3, background: "#fff" } })
      .png({ compressionLevel: 9 })
      .toBuffer();
    expect(bomb.length).toBeLessThan(1_000_000);
    await expect(convert(bomb, "webp", "account")).rejects.toThrow(InvalidImageError);
  });
});
