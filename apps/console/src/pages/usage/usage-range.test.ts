// Times of the usage page: presets and days become queries in UTC, and each part of a chart leads to its requests.
import { expect, test } from "@jest/globals";
import { bucketText, logSearchOf, rangeBefore, rangeOf, rangeText, timeText } from "./usage-range.ts";

const NOW = Date.UTC(2026, 10, 24, 12, 30);

test.each([
  [{}, { preset: "30d", bucket: "day", from: "2026-10-26", to: undefined }],
  [{ range: "24h" }, { preset: "24h", bucket: "hour", from: "2026-11-23T13:00:00.000Z" }],
  [
    { range: "7d", bucket: "hour" },
    { preset: "7d", bucket: "hour", from: "2026-11-17T13:00:00.000Z" },
  ],
  [
    { range: "90d", bucket: "month" },
    { preset: "90d", bucket: "month", from: "2026-08-27" },
  ],
  [{ range: "30d", bucket: "hour" }, { bucket: "day" }],
  [
    { from: "2026-11-01", to: "2026-11-02" },
    { preset: undefined, bucket: "hour", to: "2026-11-02" },
  ],
  [
    { from: "2026-01-01", to: "2026-11-02" },
    { bucket: "week", from: "2026-01-01" },
  ],
  [{ from: "2020-01-01", to: "2026-11-02" }, { bucket: "month" }],
] as const)("%j is asked as %j", (search, range) => {
  expect(rangeOf(search, NOW)).toMatchObject(range);
});

test("the time before a range is as long, in columns that are whole", () => {
  expect(rangeBefore("2026-11-01T00:00:00.000Z", "2026-11-03T00:00:00.000Z")).toEqual({
    ...{ from: "2026-10-30T00:00:00.000Z", to: "2026-11-01T00:00:00.000Z", bucket: "day" },
  });
  expect(rangeBefore("2026-11-23T13:00:00.000Z", "2026-11-24T13:00:00.000Z").bucket).toBe("hour");
});

test("times are short below the chart and whole in words", () => {
  expect(["2026-11-24T00:00:00Z", "2026-11-24T13:00:00Z"].map((at) => timeText("hour", at))).toEqual([
    "Nov 24",
    "13:00",
  ]);
  expect(bucketText("hour", "2026-11-24T13:00:00Z")).toBe("Tue, Nov 24, 13:00 – 14:00");
  expect(bucketText("day", "2026-11-24T00:00:00Z")).toBe("Tue, Nov 24");
  expect(bucketText("week", "2026-11-23T00:00:00Z")).toBe("Week from Nov 23");
  expect(bucketText("month", "2026-11-01T00:00:00Z")).toBe("Nov 2026");
  expect(rangeText("2026-10-26T00:00:00Z", "2026-11-25T00:00:00Z")).toBe("Oct 26 – Nov 24, 2026");
  expect(rangeText("2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z")).toBe("Nov 24, 2026");
});

test("a part of the chart leads to the requests of its time and group, with the filters of the page", () => {
  const day = { from: "2026-11-24T00:00:00.000Z", end: "2026-11-25T00:00:00.000Z" };
  const hour = { from: "2026-11-24T13:00:00.000Z", end: "2026-11-24T14:00:00.000Z" };
  expect(logSearchOf(day, { groupBy: "model", group: "m" }, { key_id: "k" })).toEqual({
    ...{ from: "2026-11-24", to: "2026-11-24", key_id: "k", model: "m" },
  });
  expect(logSearchOf(hour, { groupBy: "kind", group: "video" }, { metric: "errors" })).toEqual({
    ...{ from: hour.from, to: hour.end, status: "failed", kind: "video" },
  });
  // The log has no filter for a provider.
  expect(logSearchOf(day, { groupBy: "provider", group: "fal" }, {})).toEqual({
    ...{ from: "2026-11-24", to: "2026-11-24" },
  });
});
