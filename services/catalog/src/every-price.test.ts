// The main guarantee of the catalogue's prices, for every model and every accepted request: our cost is at most the
// charge, if the provider keeps its own price or bound. No charge is above its price or bound.
import { isExact, priceOf, priceOfTokens, priceOfUse, type TokenMeters } from "@gr/models";
import { chargeOf, PICO_PER_CREDIT } from "@gr/money";
import { type MeteredPrice, type Model, ModelKind, type Price } from "@gr/proto/catalog";
import { beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { loadSeed, SEED_DIRECTORY } from "./files/seed.ts";
import { requestsOf } from "./prices/accepted-requests.ts";

let seed: readonly Model[];
beforeAll(async () => {
  seed = await loadSeed(SEED_DIRECTORY, { sandbox: true });
});

const share = fc.double({ min: 0, max: 1, noNaN: true });
/** How much of each bound a provider used. */
const used = fc.record({
  images: fc.integer({ min: 1, max: 10 }),
  promptBytes: fc.integer({ min: 0, max: 80_000 }),
  text: share,
  output: share,
  other: share,
  inputs: share,
});
type Used = typeof used extends fc.Arbitrary<infer Value> ? Value : never;

/** Returns a report of a provider within its own bounds. */
function reportOf(rule: MeteredPrice, request: Request, { promptBytes, ...part }: Used): TokenMeters {
  const images = "images" in request ? part.images : 1;
  const seconds = "seconds" in request ? request.seconds : 1;
  const tier = rule.tiers.find(
    ({ quality, sizes, maxPixels }) =>
      (quality === "" || quality === request.quality) &&
      (sizes.length === 0 || sizes.includes(request.size)) &&
      (maxPixels === 0n || pixelsOf(request.size) <= maxPixels),
  );
  const of = (most: bigint, share: number) => Math.floor(Number(most) * share) * images;
  const text = of(BigInt(promptBytes) + rule.otherInputTokens, part.text);
  const imageInputTokens = of(rule.inputImageTokens * BigInt(request.inputImages ?? 0), part.inputs);
  const partials = "images" in request ? BigInt(request.partialImages ?? 0) * rule.partialImageTokens : 0n;
  const imageOutputTokens = of((tier?.outputTokens ?? 0n) * BigInt(seconds) + partials, part.output);
  const reasoningTokens = of(rule.otherOutputTokens, part.other);
  return {
    inputTokens: text + imageInputTokens,
    imageInputTokens,
    outputTokens: imageOutputTokens + reasoningTokens,
    imageOutputTokens,
    reasoningTokens,
  };
}

type Request = ReturnType<typeof requestsOf>[number];

function pixelsOf(size: string): bigint {
  const [width = 0n, height = 0n] = size.split("x").map(BigInt);
  return width * height;
}

/** One request of each model, with the number of images that the run sets. */
function* cases(how: Used): Generator<{ model: Model; request: Request; most: bigint }> {
  for (const model of seed) {
    for (const plain of requestsOf(model)) {
      const request = {
        ...plain,
        ...("images" in plain ? { images: how.images } : {}),
        promptBytes: how.promptBytes,
      };
      const quote = priceOf(model, request);
      if (quote === undefined) throw new Error(`${model.id} has no price for ${JSON.stringify(request)}`);
      yield { model, request, most: quote.most };
    }
  }
}

/** Returns our cost of a route. A route without its own cost is priced by the customer's rule. */
function billOf(cost: Price | undefined, request: Request, tokens: TokenMeters | undefined, used: bigint) {
  if (cost === undefined) return used;
  if (cost.rule.case !== "token") return priceOf({ price: cost }, request)?.most;
  return tokens === undefined ? undefined : priceOfTokens(cost.rule.value, tokens);
}

describe("every request that a model of the seed accepts", () => {
  test("costs us no more than it is charged, by every route, and is charged no more than its price or bound", () => {
    fc.assert(
      fc.property(used, (how) => {
        for (const { model, request, most } of cases(how)) {
          const rule = model.price?.rule;
          const tokens = rule?.case === "metered" ? reportOf(rule.value, request, how) : undefined;
          const { price } = model;
          if (price === undefined) throw new Error("no price");
          for (const { provider, cost } of model.routes) {
            // A provider with another basis of its bill reports no tokens.
            const reports = tokens !== undefined && (cost === undefined || cost.rule.case === "token");
            const used = priceOfUse(price, most, reports ? { tokens } : {});
            const charged = chargeOf(used) * PICO_PER_CREDIT;
            if (charged > chargeOf(most) * PICO_PER_CREDIT)
              throw new Error(`${model.id} is charged above its bound`);
            const billed = billOf(cost, request, tokens, used);
            if (billed === undefined || billed > charged)
              throw new Error(`${model.id} by ${provider}: ${billed} billed, ${charged} charged`);
          }
        }
      }),
      { numRuns: 15 },
    );
  });

  test("costs what its exact price says whatever is reported, and less than a bound only when less was used", () => {
    for (const model of seed) {
      const [request] = requestsOf(model);
      const { price } = model;
      if (request === undefined || price === undefined) throw new Error(`${model.id} accepts nothing`);
      const most = priceOf(model, request)?.most ?? -1n;
      const nothing = { tokens: { inputTokens: 0, outputTokens: 0 }, billed: 0n };
      expect([model.id, priceOfUse(price, most, undefined)]).toEqual([model.id, most]);
      if (isExact(price)) expect([model.id, priceOfUse(price, most, nothing)]).toEqual([model.id, most]);
      else expect(priceOfUse(price, most, nothing)).toBeLessThanOrEqual(most);
    }
  });

  test("of an image model costs as much more with each image as the one before, but for inputs that count once", () => {
    for (const model of seed.filter(({ kind }) => kind === ModelKind.IMAGE)) {
      for (const request of requestsOf(model)) {
        const of = (images: number) => priceOf(model, { ...request, images })?.most ?? -1n;
        expect(of(3) - of(2)).toBe(of(2) - of(1));
      }
    }
  });
});
