// Columns of the usage chart: one for each bucket, a series for each of the largest groups, and one for the others.
import type { ActivityAnswer } from "@gr/console-api";
import { expect, test } from "@jest/globals";
import { groupsOf, quantileColumns, stackedColumns } from "./usage-series.ts";

const NOW = Date.parse("2026-11-24T12:00:00Z");
const DAYS = ["2026-11-22T00:00:00.000Z", "2026-11-23T00:00:00.000Z", "2026-11-24T00:00:00.000Z"] as const;
const figures = (spend: number) => ({
  ...{ spend: spend.toFixed(4), requests: 10, errors: 1, input_tokens: 3, output_tokens: 4 },
  ...{ latency: { median: 400, p95: 900 }, first_token: null },
});

function answerOf(groups: readonly (string | null)[]): ActivityAnswer {
  return {
    ...{ bucket: "day", from: DAYS[0], to: "2026-11-25T00:00:00.000Z", buckets: [...DAYS] },
    ...{ total: figures(100), totals: [{ begins_at: DAYS[1], ...figures(3) }] },
    groups: groups.map((group, at) => ({ group, label: group ?? "7 other", ...figures(100 - at) })),
    data: groups.flatMap((group, at) => [
      { begins_at: DAYS[0], group, ...figures(at + 1) },
      { begins_at: DAYS[2], group, ...figures(1) },
    ]),
  };
}
const columnsOf = (groups: readonly (string | null)[], isSum = false) => {
  const answer = answerOf(groups);
  const shown = groupsOf(answer, "model", (id) => `Model ${id}`);
  return stackedColumns(answer, shown, "spend", { groupBy: "model", isSum, now: NOW });
};

test("a bucket without a request is a column of zeros, and the last column has not ended", () => {
  const { series, columns } = columnsOf(["a", "b"]);
  expect(series).toMatchObject([
    { name: "Model a", group: "a", rank: 0 },
    { name: "Model b", group: "b", rank: 1 },
  ]);
  expect(columns.map(({ title, values, isCurrent }) => [title, values, isCurrent])).toEqual([
    ["Sun, Nov 22", [1, 2], false],
    ["Mon, Nov 23", [0, 0], false],
    ["Tue, Nov 24", [1, 1], true],
  ]);
});

test("sums grow from column to column", () => {
  expect(columnsOf(["a", "b"], true).columns.map(({ values }) => values)).toEqual([
    [1, 2],
    [1, 2],
    [2, 3],
  ]);
});

test("six groups have a colour, the others are counted and shown together", () => {
  const { series, columns } = columnsOf(["a", "b", "c", "d", "e", "f", "g", "h", null]);
  expect(series.map(({ name }) => name).slice(5)).toEqual(["Model f", "9 other models"]);
  expect(columns[0]?.values).toEqual([1, 2, 3, 4, 5, 6, 7 + 8 + 9]);
  expect(columnsOf(["a", "b", "c", "d", "e", "f", "g"]).series.at(-1)).toMatchObject({ group: "g" });
});

test("two keys of one name are told apart, and kinds are words", () => {
  const groups = ["key-0001", "key-0002"].map((group) => ({ group, label: "Production", ...figures(1) }));
  expect(groupsOf({ groups }, "key", String).map(({ name }) => name)).toEqual([
    "Production",
    "Production (0002)",
  ]);
  const kinds = ["video", "text"].map((label) => ({ group: label, label, ...figures(1) }));
  expect(groupsOf({ groups: kinds }, "kind", String).map(({ name }) => name)).toEqual(["Videos", "Text"]);
});

test("lines of durations have gaps where no request ended", () => {
  const { columns } = quantileColumns(answerOf(["a"]), "latency", NOW);
  expect(columns.map(({ values }) => values)).toEqual([
    [undefined, undefined],
    [400, 900],
    [undefined, undefined],
  ]);
});
