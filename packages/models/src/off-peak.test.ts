// Guarantees of off-peak rates: they are charged only where the whole time around an answer is off-peak by the provider's clock,
// and no hold relies on them.
import { create } from "@bufbuild/protobuf";
import { OffPeakPriceSchema, PriceCaseSchema, TokenPriceSchema } from "@gr/proto/catalog";
import { expect, test } from "@jest/globals";
import { priceOfTokens } from "./price.ts";
import { dearestRates } from "./token-price.ts";

const rates = (input: bigint) => create(TokenPriceSchema, { inputPicoUsd: input, outputPicoUsd: input });
const workdays = [1, 2, 3, 4, 5];
const price = create(TokenPriceSchema, {
  ...rates(10n),
  offPeak: [
    create(OffPeakPriceSchema, {
      hours: [
        { weekdays: workdays, fromMinute: 0, toMinute: 60 },
        { weekdays: workdays, fromMinute: 600, toMinute: 1_440 },
        { weekdays: [6, 7], fromMinute: 0, toMinute: 1_440 },
      ],
      price: rates(5n),
    }),
  ],
  cases: [
    create(PriceCaseSchema, { tier: "priority", price: rates(20n) }),
    create(PriceCaseSchema, { aboveInputTokens: 100n, price: rates(12n) }),
  ],
});
const charged = (time: string, more: object = {}) =>
  priceOfTokens(price, { inputTokens: 1, outputTokens: 0, createdAt: Date.parse(`${time}:00Z`), ...more });

test.each([
  // 2026-11-24 is a Tuesday.
  ["2026-11-24T00:30", 5n],
  ["2026-11-24T00:51", 10n],
  ["2026-11-24T01:00", 10n],
  ["2026-11-24T09:59", 10n],
  ["2026-11-24T10:05", 10n],
  ["2026-11-24T10:10", 5n],
  ["2026-11-24T23:59", 5n],
  ["2026-11-22T03:00", 5n],
  ["2026-11-22T23:55", 5n],
  ["2026-11-28T03:00", 5n],
  ["2026-11-23T03:00", 10n],
])("an answer of %s costs %s", (time, cost) => {
  expect(charged(time)).toBe(cost);
});

test("tiers and long inputs have no off-peak rates, nor do answers without a time", () => {
  expect(charged("2026-11-24T12:00", { tier: "priority" })).toBe(20n);
  expect(charged("2026-11-24T12:00", { inputTokens: 101 })).toBe(101n * 12n);
  expect(charged("2026-11-24T12:00", { createdAt: undefined })).toBe(10n);
});

test("a hold covers the dearer of usual and off-peak rates", () => {
  const terms = { tier: "", inputTokens: 1n };
  expect(dearestRates(price, terms).inputPicoUsd).toBe(10n);
  const [offPeak] = price.offPeak;
  const dear = create(OffPeakPriceSchema, { hours: offPeak?.hours ?? [], price: rates(30n) });
  expect(dearestRates(create(TokenPriceSchema, { ...price, offPeak: [dear] }), terms).inputPicoUsd).toBe(30n);
});
