// The main guarantee of prices, against the simulator's copy of each provider's price list. Every simulated provider of
// a model serves its accepted requests. The charge is the catalogue's price or less than its bound, the booked cost
// equals the provider's bill, and no cost exceeds its charge.
import { loadSeed, offeredModels, requestsOf, SEED_DIRECTORY } from "@gr/catalog/simulated";
import { type CleanPicture, drawPicture } from "@gr/media-generation/simulated";
import {
  acceptedInputs,
  type ImageMeters,
  isExact,
  makesSize,
  needsImage,
  priceOf,
  type VideoMeters,
} from "@gr/models";
import { PICO_PER_CREDIT } from "@gr/money";
import { type Model, ModelKind } from "@gr/proto/catalog";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Charged, carryOut } from "./carry-out.ts";
import {
  type SimulatedProvider,
  type SimulatedProviders,
  startSimulatedProviders,
} from "./simulated-providers.ts";

/** Models that fail on purpose. */
const FAULTS = /^sandbox\/(image|video)-(error|blocked|hang)$/;
const AT_ONCE = 16;
/** Prompt with one token for four bytes there, and one for every byte in our bounds. */
const PROMPT = "a lighthouse at noon, ".repeat(20);
/** Picture above a megapixel. */
const PICTURE = { width: 1_200, height: 1_000 };

let simulated: SimulatedProviders;
beforeAll(async () => {
  simulated = await startSimulatedProviders();
});
afterAll(() => simulated?.stop());

type Meters = ImageMeters | VideoMeters;

interface Case {
  /** Id of the request. */
  readonly id: string;
  readonly model: Model;
  readonly provider: SimulatedProvider;
  readonly meters: Meters;
}

/** Returns the accepted requests of a router with only this provider. */
function casesOf(seed: readonly Model[], provider: SimulatedProvider): Omit<Case, "id">[] {
  const { name, abilities } = provider;
  const models = offeredModels(seed, new Map([[name, new Set(abilities)]]));
  return models.flatMap((model) => {
    const all = requestsOf(model).flatMap((request): Meters[] =>
      "seconds" in request ? [request] : [1, 2].map((images) => ({ ...request, images })),
    );
    const chosen = byDepth<Meters[]>({ quick: oneOfEach(model, all), deep: all });
    return chosen
      .filter(({ size }) => model.routes.some((route) => makesSize(route, size)))
      .map((meters) => ({ model, provider, meters }));
  });
}

/**
 * Every size, quality and length once, and each combination with another price a second, another cost, or other images.
 */
function oneOfEach(model: Model, requests: readonly Meters[]): Meters[] {
  const seen = new Set<string>();
  return requests.filter((request) => {
    const { size, quality, inputImages } = request;
    const length = "seconds" in request ? request.seconds : 1;
    const prices = [model.price, ...model.routes.map(({ cost }) => cost)].map((price) => {
      const most = price && priceOf({ price }, { ...request, inputImages: 0 })?.most;
      return most === undefined ? "" : most / BigInt(length);
    });
    const keys = [size, quality, `${length} s`, `${inputImages} ${prices.join(" ")}`];
    const isNew = keys.some((key) => !seen.has(key));
    for (const key of keys) seen.add(key);
    return isNew;
  });
}

/** Returns the fields as a client sends them. */
function fieldsOf(meters: Meters): object {
  const { size, quality } = meters;
  const common = { prompt: PROMPT, size, quality };
  if (!("seconds" in meters)) {
    const { images: n, partialImages = 0 } = meters;
    return { ...common, n, ...(partialImages === 0 ? {} : { stream: true, partial_images: partialImages }) };
  }
  return { ...common, seconds: meters.seconds, ...(meters.audio === true ? { audio: true } : {}) };
}

/** Adds a mask if the model needs one. */
function picturesOf(model: Model, count: number, picture: CleanPicture): CleanPicture[] {
  const mask: CleanPicture = { ...picture, role: "mask" };
  const images = Array.from({ length: count }, () => picture);
  return needsImage(model) && acceptedInputs(model).mask > 0 ? [...images, mask] : images;
}

/** Returns the faults of one case. @param billed by its provider */
function problemsOf({ model, provider }: Case, { held, charge, cost }: Charged, billed: bigint): string[] {
  const { price } = model;
  const exact = price !== undefined && isExact(price);
  const report = provider.reports[model.kind === ModelKind.VIDEO ? "video" : "image"];
  const isReported = report === "cost" || report === "tokens";
  return [
    ...(billed > charge * PICO_PER_CREDIT ? [`billed ${billed}, charged ${charge}`] : []),
    // A provider that does not report its bill is booked at no less.
    ...(cost === billed || (!isReported && cost > billed) ? [] : [`billed ${billed}, booked ${cost}`]),
    ...(exact && charge !== held ? [`charged ${charge} instead of the list price of ${held}`] : []),
    ...(charge > held ? [`charged ${charge}, above the bound of ${held}`] : []),
  ];
}

test("no accepted request costs us more than it is charged, by its provider's own bill", async () => {
  const bytes = await drawPicture("png", PICTURE);
  const picture: CleanPicture = { role: "image", bytes, type: "image/png", ...PICTURE };
  const seed = (await loadSeed(SEED_DIRECTORY, { sandbox: true })).filter(({ id }) => !FAULTS.test(id));
  const cases = simulated.providers
    .flatMap((provider) => casesOf(seed, provider))
    .map((each, index): Case => ({ ...each, id: idOf(index) }));
  const done: { asked: Case; charged: Charged | Error }[] = [];
  const waiting = cases.values();
  const work = async () => {
    for (const asked of waiting) {
      const { id, model, provider, meters } = asked;
      const pictures = picturesOf(model, meters.inputImages ?? 0, picture);
      const carried = carryOut(id, model, fieldsOf(meters), pictures, provider.adapter);
      done.push({ asked, charged: await carried.catch((error: Error) => error) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const bills = await simulated.bills();
  const wrong = done.flatMap(({ asked, charged }) => {
    const problems =
      charged instanceof Error ? [charged.message] : problemsOf(asked, charged, bills.get(asked.id) ?? -1n);
    const { model, provider, meters } = asked;
    return problems.map(
      (problem) => `${model.id} by ${provider.name}, ${JSON.stringify(meters)}: ${problem}`,
    );
  });
  expect(wrong).toEqual([]);
  printFigures(cases);
  for (const { name } of simulated.providers) {
    expect([name, cases.some(({ provider }) => provider.name === name)]).toEqual([name, true]);
  }
});

/** Prints the figures of a deep run, which `npm run facts` reads. */
function printFigures(cases: readonly Case[]): void {
  if (byDepth({ quick: true, deep: false })) return;
  const figures = {
    checked: cases.length,
    models: new Set(cases.map(({ model }) => model.id)).size,
    providers: simulated.providers.length,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
