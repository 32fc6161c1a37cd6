// Buckets of a range are whole, in UTC, and at most 400.
import { expect, test } from "@jest/globals";
import { type Bucket, spanOf } from "./activity-span.ts";

const at = (text: string) => Date.parse(text);
const textsOf = (bucket: Bucket, from: string | undefined, until: string) => {
  const { begins, end } = spanOf(bucket, from === undefined ? undefined : at(from), at(until));
  return [...begins, end].map((begin) => new Date(begin).toISOString().slice(0, 13));
};

test.each<[Bucket, string, string, string[]]>([
  ["hour", "2026-01-15T10:30Z", "2026-01-15T12:00Z", ["2026-01-15T10", "2026-01-15T11", "2026-01-15T12"]],
  [
    "day",
    "2026-02-28T23:59Z",
    "2026-03-01T00:00:00.001Z",
    ["2026-02-28T00", "2026-03-01T00", "2026-03-02T00"],
  ],
  ["week", "2026-01-18T00:00Z", "2026-01-20T00:00Z", ["2026-01-12T00", "2026-01-19T00", "2026-01-26T00"]],
  ["month", "2025-12-31T00:00Z", "2026-01-02T00:00Z", ["2025-12-01T00", "2026-01-01T00", "2026-02-01T00"]],
])("the buckets by %s of %s to %s are whole", (bucket, from, until, texts) => {
  expect(textsOf(bucket, from, until)).toEqual(texts);
});

test.each<[Bucket, number, string]>([
  ["hour", 24, "2026-01-14T13"],
  ["day", 30, "2025-12-17T00"],
  ["week", 12, "2025-10-27T00"],
  ["month", 12, "2025-02-01T00"],
])("without a begin, %s has the last %d buckets", (bucket, count, first) => {
  const texts = textsOf(bucket, undefined, "2026-01-15T12:30Z");
  expect([texts.length - 1, texts[0]]).toEqual([count, first]);
});

test("a begin that is not earlier than the end, and more than 400 buckets, are refused by name", () => {
  const now = at("2026-01-15T12:00Z");
  expect(spanOf("hour", now - 400 * 3_600_000, now).begins).toHaveLength(400);
  const refusal = (param: string) => expect.objectContaining({ reason: "invalid_value", param });
  expect(() => spanOf("day", now, now)).toThrow(refusal("from"));
  expect(() => spanOf("hour", now - 401 * 3_600_000, now)).toThrow(refusal("bucket"));
  expect(() => spanOf("month", 0, at("9999-12-31T00:00Z"))).toThrow(refusal("bucket"));
});
