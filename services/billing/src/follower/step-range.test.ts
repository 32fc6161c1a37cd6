// Ranges of steps between two snapshots: every transaction is in one range, and none is in two.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isOfAnotherServer, rangeAfter, readSnapshot, type StepRange, snapshotText } from "./step-range.ts";

const isIn = ({ from, until, late }: StepRange, transaction: bigint) =>
  (transaction >= from && transaction < until) || late.includes(transaction);

describe("snapshots", () => {
  test("are read and written in PostgreSQL's form", () => {
    expect(readSnapshot("10:20:10,14")).toEqual({ start: 10n, end: 20n, running: [10n, 14n] });
    for (const text of ["10:20:10,14", "7:7:"]) expect(snapshotText(readSnapshot(text))).toBe(text);
    expect(() => readSnapshot("10:20")).toThrow(RangeError);
  });

  test("of a later time end earlier only on another server", () => {
    expect(isOfAnotherServer(readSnapshot("10:20:10"), readSnapshot("20:20:"))).toBe(false);
    expect(isOfAnotherServer(readSnapshot("10:20:10"), readSnapshot("10:19:10"))).toBe(true);
  });
});

describe("a range", () => {
  test("ends with the present, and returns to transactions that were running", () => {
    const range = rangeAfter(readSnapshot("10:20:10,14"), readSnapshot("14:25:14,22"), 20n);
    expect(range).toMatchObject({ from: 20n, until: 25n, late: [10n, 14n] });
    expect(snapshotText(range.next)).toBe("14:25:14,22");
  });

  test("of many transactions ends before the running ones, and begins with the first step", () => {
    const range = rangeAfter(readSnapshot("10:20:10"), readSnapshot("90000:90005:90000"), 50_000n);
    expect(range).toMatchObject({ from: 20n, until: 52_000n, late: [10n] });
    expect(snapshotText(range.next)).toBe("52000:52000:");
  });

  test("never ends among running transactions", () => {
    const now = readSnapshot("90000:90005:90000");
    expect(rangeAfter(readSnapshot("10:20:"), now, 88_000n)).toMatchObject({ until: 90_000n });
    expect(rangeAfter(readSnapshot("10:20:"), now, 88_001n)).toMatchObject({ until: 90_005n, next: now });
  });

  test("shows each committed transaction once, whenever it commits and whenever the follower looks", () => {
    const transactions = fc.array(fc.record({ open: fc.nat({ max: 40 }), commits: fc.boolean() }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(transactions, fc.array(fc.nat({ max: 100 }), { minLength: 1 }), (asked, looks) => {
        // Transaction n begins at time n and ends at time n + open.
        const ends = asked.map(({ open }, id) => id + open);
        const snapshotAt = (time: number) => {
          const end = Math.min(time + 1, asked.length);
          const running = ends.flatMap((last, id) => (id < end && last >= time ? [BigInt(id)] : []));
          return { start: running[0] ?? BigInt(end), end: BigInt(end), running };
        };
        const counts = asked.map(() => 0);
        let seen = { start: 0n, end: 0n, running: [] as readonly bigint[] };
        for (const time of [...looks.toSorted((one, other) => one - other), 200]) {
          const now = snapshotAt(time);
          const range = rangeAfter(seen, now, undefined);
          for (const id of asked.keys()) {
            const isVisible =
              BigInt(id) < now.end && !now.running.includes(BigInt(id)) && asked[id]?.commits === true;
            if (isVisible && isIn(range, BigInt(id))) counts[id] = (counts[id] ?? 0) + 1;
          }
          seen = range.next;
        }
        expect(counts).toEqual(asked.map(({ commits }) => (commits ? 1 : 0)));
      }),
    );
  });
});
