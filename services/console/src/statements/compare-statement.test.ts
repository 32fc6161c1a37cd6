// The comparison finds each leak by its model and to the last pico, and reports no difference where the books fit the statement.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type BookedRow, compareStatement } from "./compare-statement.ts";
import type { StatementRow } from "./provider-statement.ts";

const exact = { usd: 0n, percent: 0 };
const [monday, tuesday] = ["2026-01-12", "2026-01-13"];
const billed = (model: string, amount: bigint, day = monday): StatementRow => ({ day, model, amount });
const booked = (model: string, cost: bigint, day = monday): BookedRow => ({ day, model, cost });

describe("a comparison", () => {
  test("shows billed, booked and their difference by day and model", () => {
    const { days, models, off } = compareStatement(
      [billed("b", 7n), billed("a", 3n), billed("a", 2n)],
      [booked("a", 5n), booked("b", 4n, tuesday)],
      exact,
    );
    expect(days).toEqual([
      { day: monday, model: "a", billed: 5n, booked: 5n, difference: 0n },
      { day: monday, model: "b", billed: 7n, booked: undefined, difference: 7n },
      { day: tuesday, model: "b", billed: undefined, booked: 4n, difference: -4n },
    ]);
    expect(models).toMatchObject([
      { model: "b", difference: 3n, differs: true },
      { model: "a", difference: 0n, differs: false },
    ]);
    expect(off).toBe(3n);
  });

  test("sees no difference when a request near midnight is on the neighbour day", () => {
    const { off, models } = compareStatement([billed("a", 9n)], [booked("a", 9n, tuesday)], exact);
    expect([off, models[0]?.differs]).toEqual([0n, false]);
  });

  test("lists models that one side does not have", () => {
    const { models } = compareStatement([billed("new", 2n)], [booked("old", 1n)], exact);
    expect(models).toMatchObject([
      { model: "new", billed: 2n, booked: undefined, differs: true },
      { model: "old", billed: undefined, booked: 1n, differs: true },
    ]);
  });

  test("matches a dated snapshot to the name without a date, unless the books have the snapshot", () => {
    const snapshot = billed("gpt-4o-2024-08-06", 5n);
    expect(compareStatement([snapshot], [booked("gpt-4o", 5n)], exact).off).toBe(0n);
    const both = [booked("gpt-4o", 1n), booked("gpt-4o-2024-08-06", 5n)];
    expect(compareStatement([snapshot, billed("gpt-4o", 1n)], both, exact).off).toBe(0n);
  });

  test("explains differences of several models by the cost without a model once", () => {
    const { models, off } = compareStatement(
      [billed("a", 10n), billed("b", 9n)],
      [booked("a", 4n), booked("b", 4n), booked("", 7n)],
      exact,
    );
    expect(models).toMatchObject([
      { model: "a", unexplained: 0n },
      { model: "b", unexplained: 4n, differs: true },
      { model: "", unexplained: 0n },
    ]);
    expect(off).toBe(4n);
  });

  test("tolerates the larger one of the amount and the share, and nothing beyond it", () => {
    const offOf = (amount: bigint, tolerance: { usd: bigint; percent: number }) =>
      compareStatement([billed("a", amount)], [booked("a", 1_000n)], tolerance).off;
    expect(offOf(1_010n, { usd: 10n, percent: 0 })).toBe(0n);
    expect(offOf(1_011n, { usd: 10n, percent: 0 })).toBe(11n);
    expect(offOf(1_010n, { usd: 0n, percent: 1 })).toBe(0n);
    expect(offOf(989n, { usd: 10n, percent: 0 })).toBe(11n);
  });

  test("explains billed amounts by booked cost without a model, and no more than that cost", () => {
    const { models, off, unassigned } = compareStatement(
      [billed("a", 10n)],
      [booked("a", 4n), booked("", 5n)],
      exact,
    );
    expect(models).toMatchObject([
      { model: "a", difference: 6n, unexplained: 1n, differs: true },
      { model: "", difference: -5n, unexplained: 0n, differs: false },
    ]);
    expect([off, unassigned]).toEqual([1n, 5n]);
    const never = compareStatement([], [booked("", 5n)], exact);
    expect(never.models).toMatchObject([{ model: "", unexplained: -5n, differs: true }]);
  });

  test("adds up: days, models and unexplained parts have the difference of the totals", () => {
    const amount = fc.bigInt(0n, 50n);
    const cell = fc.tuple(fc.constantFrom("a", "b", ""), amount, fc.constantFrom(monday, tuesday));
    fc.assert(
      fc.property(fc.array(cell), fc.array(cell), (left, right) => {
        const rows = left.map(([model, ...rest]) => billed(model || "c", ...rest));
        const result = compareStatement(
          rows,
          right.map((row) => booked(...row)),
          exact,
        );
        const difference = result.billed - result.booked;
        const sum = (parts: readonly bigint[]) => parts.reduce((one, other) => one + other, 0n);
        expect(sum(result.days.map((row) => row.difference))).toBe(difference);
        expect(sum(result.models.map((row) => row.difference))).toBe(difference);
        expect(sum(result.models.map((row) => row.unexplained))).toBe(difference);
      }),
    );
  });
});
