// Gates of media generation: another account's finished pictures never wait for one account's input.
import { expect, test } from "@jest/globals";
import { createPictureCleaner } from "../inputs/clean-picture.ts";
import { createImageConverter } from "../storage/image-file.ts";
import { drawPicture } from "../test/pictures.ts";
import { createMediaGates } from "./media-gates.ts";

test("a flood of input pictures is refused at its bound, and finished pictures pass meanwhile", async () => {
  const { inputs, results } = createMediaGates();
  const clean = createPictureCleaner(inputs);
  const convert = createImageConverter(results);
  const picture = await drawPicture();
  // The only place for input pictures is in use until the test releases it.
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = inputs.run({ owner: "flood" }, () => promise);
  const order: string[] = [];
  const flood = Array.from({ length: 300 }, () =>
    clean(picture, "image", { owner: "flood" }).then(
      () => order.push("input"),
      (error) => order.push(error.reason),
    ),
  );
  const pictures = await Promise.all(Array.from({ length: 20 }, () => convert(picture, "webp", "victim")));
  order.push("finished");
  expect(pictures).toHaveLength(20);
  resolve();
  await Promise.all([running, ...flood]);
  const refused = Array(300 - 256).fill("rate_limit_exceeded");
  expect(order).toEqual([...refused, "finished", ...Array(256).fill("input")]);
});

test("accounts with finished pictures take turns, however many one of them has", async () => {
  const { results } = createMediaGates();
  const order: string[] = [];
  const work = (owner: string) => results.run({ owner, cost: 1_000 }, async () => void order.push(owner));
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = [1, 2].map(() => results.run({ owner: "many" }, () => promise));
  const works = [...Array.from({ length: 50 }, () => work("many")), work("one"), work("one")];
  resolve();
  await Promise.all([...running, ...works]);
  expect(order.slice(0, 5).filter((owner) => owner === "one")).toHaveLength(2);
});
