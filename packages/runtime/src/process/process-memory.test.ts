// Guarantees of processMemory.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
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

// A process of its own has no other work that would start a collection.
const CROWD = `
  const { collectWhenQuiet } = await import(process.argv[1]);
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  collectWhenQuiet();
  await pause(2_500);
  let objects = [];
  while (process.memoryUsage().heapUsed < 150e6) {
    for (let count = 0; count < 20_000; count += 1) objects.push({ count, text: \`\${count}\` });
    await pause(1);
  }
  objects = [];
  while (process.memoryUsage().heapUsed > 100e6) await pause(50);
`;

test("a quiet process returns the memory of objects that nothing reaches any more", async () => {
  const module = new URL("./process-memory.ts", import.meta.url).href;
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", CROWD, module], {
    timeout: 60_000,
  });
}, 90_000);
