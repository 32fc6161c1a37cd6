// Guarantees of request summaries: sums are exact, each request is in one bar, and bars have no gap.
import { create } from "@bufbuild/protobuf";
import { GenerationStatus, SumGenerationsResponseSchema } from "@gr/proto/media";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { barsOf, summarize } from "./request-summary.ts";

const NOW = Date.UTC(2026, 10, 27, 12, 34, 56);
const HOUR = 3_600_000;
const { SUCCEEDED, FAILED, BLOCKED, RUNNING, CANCELLED } = GenerationStatus;

const sumOf = (bar: number, status: GenerationStatus, requests = 1n, chargedCredits = 0n) => {
  return { bar, status, requests, chargedCredits };
};
const answer = (
  sums: ReturnType<typeof sumOf>[],
  latencies: { readonly step: number; readonly requests: bigint }[] = [],
) => create(SumGenerationsResponseSchema, { sums, latencies });
const stepOf = (ms: number) => Math.floor(Math.log(ms) / Math.log(1.01));

test("sums count charges exactly, blocked requests as failed, and the median of successes within one percent", () => {
  const bars = barsOf(NOW - 24 * HOUR, NOW, true);
  const sums = [
    sumOf(24, RUNNING),
    sumOf(23, SUCCEEDED, 2n, 1_200n),
    sumOf(22, FAILED),
    sumOf(21, BLOCKED),
    sumOf(20, SUCCEEDED, 1n, 95n),
    sumOf(19, CANCELLED, 1n, 3n),
    // Begun before the first bar, or after the last.
    sumOf(-1, SUCCEEDED),
    sumOf(25, SUCCEEDED),
  ];
  const latencies = [400, 3_200, 6_000].map((ms) => ({ step: stepOf(ms), requests: 1n }));
  const summary = summarize(bars, answer(sums, latencies));
  expect(summary).toMatchObject({
    ...{ requests: 9, spend: "0.1298", succeeded: 5, failed: 2, other: 2, bar_ms: HOUR },
  });
  expect(Math.abs((summary.median_latency ?? 0) - 3_200)).toBeLessThan(32);
  expect(summary.bars.length).toBe(25);
  expect(summary.bars[0]).toEqual({ at: "2026-11-26T12:00:00.000Z", succeeded: 0, failed: 0, other: 0 });
  expect(summary.bars[23]).toMatchObject({ succeeded: 2 });
  expect(summary.bars.at(-1)).toMatchObject({ at: "2026-11-27T12:00:00.000Z", other: 1 });
});

test("without a begin, bars cover an hour at least; nothing has no median", () => {
  const summary = summarize(barsOf(undefined, NOW, false), answer([]));
  expect([summary.bars.length, summary.bar_ms]).toEqual([31, 120_000]);
  expect([summary.median_latency, summary.spend]).toEqual([null, "0.0000"]);
  expect(barsOf(NOW - 24 * HOUR, NOW, false).width).toBe(HOUR);
});

test("bars are at most 48, in order and without a gap, and contain begin and end, over any time", () => {
  const span = fc.integer({ min: 1, max: 5 * 366 * 24 * HOUR });
  fc.assert(
    fc.property(span, fc.boolean(), (ms, isFiltered) => {
      const { start, width, count } = barsOf(NOW - ms, NOW, isFiltered);
      expect(count).toBeLessThanOrEqual(48);
      expect([start <= NOW - ms, start + count * width > NOW]).toEqual([true, true]);
      const { bars } = summarize({ start, width, count }, answer([]));
      expect(bars.map(({ at }) => Date.parse(at))).toEqual(bars.map((_, index) => start + index * width));
    }),
    { seed: 20_261_127 },
  );
});
