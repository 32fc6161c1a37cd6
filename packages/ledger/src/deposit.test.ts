// The order of the states of a deposit: which report can follow which, and the credit that moves.
import { expect, test } from "@jest/globals";
import { type DepositEntry, type DepositStatus, depositEntry } from "./deposit.ts";

const STATES = ["PENDING", "COMPLETED", "FAILED", "REFUNDED"] as const;

/** Entries by stored status, for reports in the order of STATES; undefined = refused. */
const TABLE: readonly (readonly [DepositStatus | undefined, readonly (DepositEntry | undefined)[]])[] = [
  [undefined, [null, "deposit", null, undefined]],
  ["PENDING", [null, "deposit", null, null]],
  ["COMPLETED", [undefined, null, undefined, "refund"]],
  ["FAILED", [undefined, "deposit", null, undefined]],
  ["REFUNDED", [undefined, undefined, undefined, null]],
];

test.each(TABLE)("after %s each report has the entry of the table", (known, entries) => {
  expect(STATES.map((wanted) => depositEntry(known, wanted))).toEqual(entries);
});

test("no sequence of reports credits a payment twice, or takes back more than it credited", () => {
  const walk = (known: DepositStatus | undefined, credited: number, depth: number): void => {
    expect([0, 1]).toContain(credited);
    if (depth === 0) return;
    for (const wanted of STATES) {
      const entry = depositEntry(known, wanted);
      if (entry === undefined) continue;
      walk(wanted, credited + (entry === "deposit" ? 1 : entry === "refund" ? -1 : 0), depth - 1);
    }
  };
  walk(undefined, 0, 6);
});
