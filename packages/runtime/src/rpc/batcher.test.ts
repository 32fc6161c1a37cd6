// Guarantees of the batcher that money rests on: order, no loss, no duplicate, bounded.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { nextTurn } from "../process/clock.ts";
import { createBatcher } from "./batcher.ts";

const options = { maxBatch: 4, maxQueue: 100, overflow: () => new Error("full") };

describe("batcher", () => {
  test.each([
    ["without a turn", {}],
    ["with a turn", { turn: nextTurn }],
  ])(
    "every operation is sent once and gets its own result, whatever the arrival pattern: %s",
    async (_what, turn) => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 60 }), async (pauses) => {
          const sent: number[] = [];
          const batch = createBatcher<number, number>(
            async (operations) => {
              await new Promise(setImmediate);
              sent.push(...operations);
              return operations.map((n) => n * 2);
            },
            { ...options, ...turn },
          );
          const results: Promise<number>[] = [];
          for (const [index, pause] of pauses.entries()) {
            results.push(batch(index));
            for (let i = 0; i < pause; i += 1) await new Promise(setImmediate);
          }
          expect(await Promise.all(results)).toEqual(pauses.map((_, index) => index * 2));
          expect(sent).toEqual(pauses.map((_, index) => index));
        }),
      );
    },
  );

  test("operations that arrive during a call leave together in the next one", async () => {
    const sizes: number[] = [];
    const batch = createBatcher<number, number>(async (operations) => {
      sizes.push(operations.length);
      await new Promise(setImmediate);
      return operations;
    }, options);
    const first = batch(0);
    await new Promise(setImmediate);
    await Promise.all([first, ...Array.from({ length: 6 }, (_, index) => batch(index))]);
    expect(sizes).toEqual([1, 4, 2]);
  });

  test("with a turn, operations that the answers of a call cause share the next one", async () => {
    const sizes: number[] = [];
    const batch = createBatcher<number, number>(
      async (operations) => {
        sizes.push(operations.length);
        await new Promise(setImmediate);
        return operations;
      },
      { ...options, turn: nextTurn },
    );
    const twice = async (operation: number) => {
      await batch(operation);
      await new Promise(setImmediate);
      await batch(operation);
    };
    await Promise.all([1, 2, 3].map(twice));
    expect(sizes).toEqual([3, 3]);
  });

  test("a failed call rejects its own batch only", async () => {
    let calls = 0;
    const batch = createBatcher<number, number>(async (operations) => {
      calls += 1;
      if (calls === 1) throw new Error("down");
      return operations;
    }, options);
    await expect(batch(1)).rejects.toThrow("down");
    await expect(batch(2)).resolves.toBe(2);
  });

  test("a failed call refuses what the next one cannot take, so that nobody waits for a third", async () => {
    const sent: number[][] = [];
    let fail: (error: Error) => void = () => undefined;
    const batch = createBatcher<number, number>((operations) => {
      sent.push(operations);
      if (sent.length > 1) return Promise.resolve(operations);
      return new Promise((_, reject) => {
        fail = reject;
      });
    }, options);
    const first = batch(0);
    await new Promise(setImmediate);
    const waiting = Array.from({ length: 6 }, (_, index) => batch(index + 1));
    const outcomes = Promise.allSettled([first, ...waiting]);
    fail(new Error("down"));
    const settled = (await outcomes).map((each) =>
      each.status === "fulfilled" ? each.value : each.reason.message,
    );
    expect(settled).toEqual(["down", 1, 2, 3, 4, "full", "full"]);
    expect(sent).toEqual([[0], [1, 2, 3, 4]]);
    await expect(batch(7)).resolves.toBe(7);
  });

  test("a full queue refuses at once and sends nothing for the refused operation", async () => {
    const sent: number[] = [];
    const batch = createBatcher<number, number>(
      async (operations) => {
        sent.push(...operations);
        return operations;
      },
      { maxBatch: 1, maxQueue: 2, overflow: () => new Error("full") },
    );
    const outcomes = await Promise.allSettled([batch(1), batch(2), batch(3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(sent).toEqual([1, 2]);
  });

  test("one bad operation fails alone, and its neighbours are carried out", async () => {
    const sent: number[][] = [];
    const batch = createBatcher<number, number>(
      async (operations) => {
        sent.push(operations);
        if (operations.includes(2)) throw new Error("2 cannot be encoded");
        return operations;
      },
      { maxBatch: 4, maxQueue: 8, overflow: () => new Error("full"), mayBeOfOne: () => true },
    );
    const outcomes = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((each) => batch(each)));
    expect(outcomes.map(({ status }) => status === "fulfilled")).toEqual([
      true,
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(sent).toEqual([[1, 2, 3, 4], [1], [2], [3], [4], [5, 6]]);
  });
});
