// Guarantees of processMemory.
import { expect, test } from "@jest/globals";
import { processMemory } from "./process-memory.ts";

const MB = 1024 * 1024;

test("a control group's limit counts, and an absent one does not", () => {
  const machine = 8_192 * MB;
  const heap = 4_096 * MB;
  const totalOf = (constrained: number) => processMemory({ constrained, machine, heap }).totalBytes;
  expect(totalOf(512 * MB)).toBe(512 * MB);
  expect(totalOf(0)).toBe(machine);
  expect(totalOf(2 ** 63)).toBe(machine);
});

test("the heap is never larger than the whole", () => {
  const readings = { constrained: 512 * MB, machine: 8_192 * MB, heap: 4_096 * MB };
  expect(processMemory(readings).heapBytes).toBe(512 * MB);
  expect(processMemory({ ...readings, heap: 100 * MB }).heapBytes).toBe(100 * MB);
});

test("this process has a limit of more than nothing", () => {
  const { totalBytes, heapBytes } = processMemory();
  expect(totalBytes).toBeGreaterThan(0);
  expect(heapBytes).toBeGreaterThan(0);
});
