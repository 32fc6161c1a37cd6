// Masks in the form of providers: the client's transparent pixels become white.
import { expect, test } from "@jest/globals";
import sharp from "sharp";
import { whiteMask } from "./input-picture.ts";

test("what is transparent in a mask becomes white, what is opaque black, and an opaque mask stays as it is", async () => {
  const red = (...alphas: number[]) => {
    const pixels = Buffer.from(alphas.flatMap((alpha) => [255, 0, 0, alpha]));
    return sharp(pixels, { raw: { width: alphas.length, height: 1, channels: 4 } })
      .png()
      .toBuffer();
  };
  const bytes = await red(0, 255);
  const white = await whiteMask({ role: "mask", bytes, type: "image/png" });
  expect([...(await sharp(white.bytes).toColourspace("b-w").raw().toBuffer())]).toEqual([255, 0]);
  const plain = { role: "mask", bytes: await red(255, 255), type: "image/png" } as const;
  expect(await whiteMask(plain)).toEqual(plain);
});

test("masks of one account wait for each other, and not another account's for them", async () => {
  const bytes = await sharp({ create: { width: 64, height: 64, channels: 4, background: "#00000080" } })
    .png()
    .toBuffer();
  const order: string[] = [];
  const whiten = async (owner: string) => {
    await whiteMask({ role: "mask", bytes, type: "image/png", owner });
    order.push(owner);
  };
  const flood = Array.from({ length: 8 }, () => whiten("attacker"));
  await Promise.all([...flood, whiten("victim")]);
  expect(order.indexOf("victim")).toBe(1);
});
