// Guarantees of request summaries: each request is in one bar, bars have no gap, and sums are exact.
import { GenerationStatus } from "@gr/proto/media";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { summarize } from "./request-summary.ts";

const NOW = Date.UTC(2026, 10, 27, 12, 34, 56);
const { SUCCEEDED, FAILED, BLOCKED, RUNNING, CANCELLED } = GenerationStatus;

const request = (agoMs: number, status: GenerationStatus = SUCCEEDED, credits = 1_200n, latency = 1_000) => ({
  createdAt: BigInt(NOW - agoMs),
  status,
  ...(status === RUNNING ? {} : { finishedAt: BigInt(NOW - agoMs + latency), chargedCredits: credits }),
});

test("sums count charges exactly, blocked requests as failed, and the median of successes", () => {
  const hour = 3_600_000;
  const requests = [
    request(0, RUNNING),
    request(hour, SUCCEEDED, 1_200n, 400),
    request(2 * hour, FAILED, 0n, 60_000),
    request(3 * hour, BLOCKED, 0n, 10),
    request(4 * hour, SUCCEEDED, 95n, 6_000),
    request(5 * hour, CANCELLED, 3n),
  ];
  const summary = summarize(requests, { from: NOW - 24 * hour, to: NOW, isCut: false });
  expect(summary).toMatchObject({
    ...{
      requests: 6,
      spend: "0.1298",
      succeeded: 2,
      failed: 2,
      other: 2,
      median_latency: 3_200,
      is_cut: false,
    },
    bar_ms: hour,
  });
  expect(summary.bars.length).toBe(25);
  expect(summary.bars[0]).toEqual({ at: "2026-11-26T12:00:00.000Z", succeeded: 0, failed: 0, other: 0 });
  expect(summary.bars.at(-1)).toMatchObject({ at: "2026-11-27T12:00:00.000Z", other: 1 });
});

test("without a begin, bars cover an hour at least; nothing has no median", () => {
  const summary = summarize([], { from: undefined, to: NOW, isCut: false });
  expect([summary.bars.length, summary.bar_ms]).toEqual([31, 120_000]);
  expect([summary.median_latency, summary.spend]).toEqual([null, "0.0000"]);
  const old = summarize([request(86_400_000)], { from: undefined, to: NOW, isCut: false });
  expect([old.bars[0]?.succeeded, old.bar_ms]).toEqual([1, 3_600_000]);
});

test("each request is in one of at most 48 bars, in order and without a gap, over any time", () => {
  const span = fc.integer({ min: 1, max: 5 * 366 * 24 * 3_600_000 });
  fc.assert(
    fc.property(
      span,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 60 }),
      fc.boolean(),
      (ms, shares, isCut) => {
        const requests = shares.toSorted((a, b) => a - b).map((share) => request(Math.floor(share * ms)));
        const { bars, bar_ms } = summarize(requests, { from: NOW - ms, to: NOW, isCut });
        expect(bars.length).toBeLessThanOrEqual(48);
        expect(bars.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(requests.length);
        const starts = bars.map(({ at }) => Date.parse(at));
        expect(starts).toEqual(starts.map((_, index) => (starts[0] ?? 0) + index * bar_ms));
      },
    ),
    { seed: 20_261_127 },
  );
});
