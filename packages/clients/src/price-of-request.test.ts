// Guarantees of request prices: lines and adjustments add up to the charge, to the last digit, and nothing is invented.
import { create } from "@bufbuild/protobuf";
import { parsePicoUsd } from "@gr/money";
import { HoldState, TextSchema } from "@gr/proto/billing";
import { PriceSchema } from "@gr/proto/catalog";
import { GenerationKind, GenerationSchema, GenerationStatus } from "@gr/proto/media";
import type { RequestPrice } from "@gr/request-record";
import { expect, test } from "@jest/globals";
import { priceOfGeneration, priceOfText } from "./price-of-request.ts";

const tokens = create(PriceSchema, {
  version: "v1",
  rule: {
    case: "token",
    value: {
      inputPicoUsd: 500_000n,
      outputPicoUsd: 1_500_000n,
      cachedInputPicoUsd: 50_000n,
      toolFees: [{ call: "web_search_call", picoUsd: 10_000_000_000n }],
      upstreams: [{ provider: "dear", price: { inputPicoUsd: 1_000_000n, outputPicoUsd: 2_000_000n } }],
    },
  },
});
const usage = { inputTokens: 1_000n, cachedInputTokens: 400n, outputTokens: 20n, imageInputTokens: 7n };
const LISTED = 600n * 500_000n + 400n * 50_000n + 20n * 1_500_000n;
const text = (fields: object) =>
  create(TextSchema, {
    state: HoldState.CAPTURED,
    priceVersion: "v1",
    provider: "default",
    chargedCredits: 4n,
    costPicoUsd: LISTED,
    line: { usage },
    ...fields,
  });
const images = create(PriceSchema, {
  version: "v2",
  rule: {
    case: "image",
    value: { tiers: [{ picoUsd: 20_050_000_000n }], inputImagePicoUsd: 1_000_000_000n },
  },
});
const generation = (fields: object) =>
  create(GenerationSchema, {
    kind: GenerationKind.IMAGE,
    status: GenerationStatus.SUCCEEDED,
    parameters: { count: 2, size: "1024x1024" },
    inputPixels: [1_048_576n],
    priceVersion: "v2",
    pricePicoUsd: 42_100_000_000n,
    chargedCredits: 421n,
    ...fields,
  });

const pico = (usd: string) =>
  usd.startsWith("-") ? -(parsePicoUsd(usd.slice(1)) ?? 0n) : (parsePicoUsd(usd) ?? 0n);
function described(price: RequestPrice | null) {
  if (price === null) return null;
  const parts = [...price.lines, ...price.adjustments].map(({ amount }) => pico(amount));
  expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(pico(price.charged));
  for (const { count, unit_price, amount } of price.lines) {
    expect(BigInt(count) * pico(unit_price)).toBe(pico(amount));
  }
  return [
    ...price.lines.map(({ unit, count, unit_price }) => `${count} ${unit} at ${unit_price}`),
    ...price.adjustments.map(({ reason, amount }) => `${reason} ${amount}`),
  ];
}

const LINES = ["600 input_tokens at 0.0000005", "400 cached_input_tokens at 0.00000005"];
const OUTPUT = "20 output_tokens at 0.0000015";

test("text: the tokens of each sort at the price of then, rounded up once", () => {
  expect(described(priceOfText(text({}), tokens))).toEqual([...LINES, OUTPUT, "rounded_up 0.00005"]);
  const searched = text({
    line: { usage: { ...usage, toolCalls: { web_search_call: 2n } } },
    ...{ costPicoUsd: LISTED + 20_000_000_000n, chargedCredits: 204n },
  });
  expect(described(priceOfText(searched, tokens))).toContain("2 web_search_call at 0.01");
  const elsewhere = text({ provider: "dear", costPicoUsd: 1_040_000_000n, chargedCredits: 11n });
  expect(described(priceOfText(elsewhere, tokens))).toEqual([
    "600 input_tokens at 0.000001",
    "400 cached_input_tokens at 0.000001",
    "20 output_tokens at 0.000002",
    "rounded_up 0.00006",
  ]);
});

test("text: what the listed price does not explain is named, and not spread over the lines", () => {
  const more = text({ costPicoUsd: LISTED + 1n, chargedCredits: 4n });
  expect(described(priceOfText(more, tokens))).toEqual([
    ...[...LINES, OUTPUT],
    ...["billed_otherwise 0.000000000001", "rounded_up 0.000049999999"],
  ]);
  const aboveTrusted = text({ costPicoUsd: LISTED + 1_000_000_000n, chargedCredits: 5n });
  expect(described(priceOfText(aboveTrusted, tokens))?.slice(3)).toEqual([
    "billed_otherwise 0.001",
    "not_charged -0.00085",
  ]);
  const continued = text({ chargedCredits: 9n });
  expect(described(priceOfText(continued, tokens))?.slice(3)).toEqual(["earlier_providers 0.00055"]);
  for (const [of, price] of [
    [text({ line: undefined }), tokens],
    [text({}), undefined],
  ] as const) {
    expect(described(priceOfText(of, price))).toEqual(["provider_billed 0.00035", "rounded_up 0.00005"]);
  }
});

test("media: units at the price of then", () => {
  const lines = ["2 image at 0.02005", "2 input_image at 0.001"];
  expect(described(priceOfGeneration(generation({}), images))).toEqual(lines);
  const one = generation({ chargedCredits: 211n });
  expect(described(priceOfGeneration(one, images))).toEqual([...lines, "not_delivered -0.021"]);
});

test("media: where no units are kept or they do not explain the charge, none are shown", () => {
  const report = create(PriceSchema, { rule: { case: "reported", value: { most: images } } });
  expect(described(priceOfGeneration(generation({}), report))).toEqual(["by_report 0.0421"]);
  expect(described(priceOfGeneration(generation({}), undefined))).toEqual(["units_unknown 0.0421"]);
  const other = generation({ pricePicoUsd: 42_000_000_000n });
  expect(described(priceOfGeneration(other, images))).toEqual(["units_unknown 0.0421"]);
});

test("what failed cost nothing, and what runs has no price yet", () => {
  const failed = { chargedCredits: 0n };
  expect(described(priceOfText(text({ state: HoldState.RELEASED, ...failed }), tokens))).toEqual([]);
  const blocked = generation({ status: GenerationStatus.BLOCKED, ...failed });
  expect(described(priceOfGeneration(blocked, images))).toEqual([]);
  expect(priceOfText(text({ state: HoldState.OPEN }), tokens)).toBeNull();
  const running = generation({ status: GenerationStatus.RUNNING, chargedCredits: undefined });
  expect(priceOfGeneration(running, images)).toBeNull();
});

test("text: the rates of the tier that the answer named, and of cache writes that are kept longer", () => {
  const own = { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n };
  const fast = {
    ...{ inputPicoUsd: 1_000_000n, outputPicoUsd: 3_000_000n },
    ...{ cacheWritePicoUsd: 1_250_000n, longCacheWritePicoUsd: 2_000_000n },
  };
  const tiered = create(PriceSchema, {
    version: "v1",
    rule: { case: "token", value: { ...own, cases: [{ tier: "priority", price: fast }] } },
  });
  const served = text({
    line: {
      usage: {
        ...{ inputTokens: 1_000n, cacheWriteTokens: 300n, longCacheWriteTokens: 100n, outputTokens: 10n },
        tier: "priority",
      },
    },
    ...{ costPicoUsd: 1_180_000_000n, chargedCredits: 12n },
  });
  expect(described(priceOfText(served, tiered))).toEqual([
    "700 input_tokens at 0.000001",
    "200 cache_write_tokens at 0.00000125",
    "100 long_cache_write_tokens at 0.000002",
    "10 output_tokens at 0.000003",
    "rounded_up 0.00002",
  ]);
});
