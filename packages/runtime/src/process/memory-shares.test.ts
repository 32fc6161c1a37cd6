// Guarantees of memoryShares.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { IDLE_BYTES, memoryShares } from "./memory-shares.ts";

const MIB = 1024 * 1024;
const of = (totalBytes: number) => ({ totalBytes, heapBytes: totalBytes });

test("a module alone gets what its process may use, and two share it by their weights", () => {
  const text = { name: "text", memoryWeight: 1 };
  const media = { name: "media", memoryWeight: 2 };
  const keys = { name: "keys" };
  const alone = memoryShares([text, keys], of(1_000 * MIB)).get("text");
  expect(alone).toBe((850 - 192) * MIB);
  const shares = memoryShares([text, media, keys], of(1_000 * MIB));
  expect([...shares.keys()]).toEqual(["text", "media"]);
  expect((shares.get("text") ?? 0) + (shares.get("media") ?? 0)).toBeLessThanOrEqual(alone ?? 0);
  expect(shares.get("media")).toBeCloseTo(2 * (shares.get("text") ?? 0), -1);
});

test("all shares and the idle process fit into its memory, whatever runs in it", () => {
  const modules = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 8 });
  fc.assert(
    fc.property(modules, fc.integer({ min: 300 * MIB, max: 64_000 * MIB }), (weights, total) => {
      const list = weights.map((memoryWeight, index) => ({ name: String(index), memoryWeight }));
      const shared = [...memoryShares(list, of(total)).values()].reduce((sum, bytes) => sum + bytes, 0);
      expect(shared + IDLE_BYTES).toBeLessThanOrEqual(total);
    }),
  );
});

test("a process that is too small for anything gets shares of nothing", () => {
  expect(memoryShares([{ name: "a", memoryWeight: 1 }], of(100 * MIB)).get("a")).toBe(0);
});
