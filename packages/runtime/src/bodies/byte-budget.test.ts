// Guarantees of the byte budget: bytes from callers are bounded over all requests, and released exactly once.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { ByteBudget } from "./byte-budget.ts";

const refused = expect.objectContaining({ reason: "service_unavailable", retryAfterMs: expect.any(Number) });

test("what does not fit is refused, and fits when another request has left", () => {
  const budget = new ByteBudget(100);
  const [one, other] = [budget.open("a"), budget.open("b")];
  one.reserve(60);
  expect(() => other.expect(41)).toThrow(refused);
  other.reserve(30);
  expect(() => other.reserve(11)).toThrow(refused);
  one.leave();
  other.reserve(40);
  other.leave();
  expect(budget.left).toBe(100);
});

test("an owner takes three bytes for each that is free, over all its requests, so that others find some", () => {
  const budget = new ByteBudget(100);
  const [one, more, other] = [budget.open("a"), budget.open("a"), budget.open("b")];
  one.reserve(50);
  more.reserve(25);
  const shareUsed = expect.objectContaining({
    reason: "rate_limit_exceeded",
    retryAfterMs: expect.any(Number),
  });
  expect(() => more.reserve(1)).toThrow(shareUsed);
  other.reserve(18);
  expect(() => other.reserve(1)).toThrow(shareUsed);
  one.leave();
  other.reserve(20);
});

test("bytes are held until the exchange and the work with them have both ended, whichever ends first", async () => {
  const budget = new ByteBudget(100);
  for (const clientLeavesFirst of [true, false]) {
    const allowance = budget.open("a");
    allowance.reserve(60);
    const ended = Promise.withResolvers<string>();
    const work = allowance.during(() => ended.promise);
    if (clientLeavesFirst) allowance.leave();
    expect(budget.left).toBe(40);
    ended.resolve("done");
    expect(await work).toBe("done");
    if (!clientLeavesFirst) {
      expect(budget.left).toBe(40);
      allowance.leave();
    }
    expect(budget.left).toBe(100);
  }
});

test("what still arrives after the end is not counted", () => {
  const budget = new ByteBudget(100);
  const allowance = budget.open("a");
  allowance.leave();
  allowance.reserve(60);
  expect(budget.left).toBe(100);
});

// A process of its own has no other garbage that would start a collection. Beside its many objects V8 leaves the buffers alone.
const BURST = `
  const { ByteBudget } = await import(process.argv[1]);
  const budget = new ByteBudget(1e9);
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const objects = Array.from({ length: 400_000 }, (_, index) => ({ index, text: String(index) }));
  let bodies = [];
  for (let count = 0; count < 12; count += 1) {
    const allowance = budget.open("a");
    allowance.reserve(19e6);
    bodies.push({ allowance, bytes: Buffer.allocUnsafeSlow(19e6) });
    await pause(20);
  }
  for (const { allowance } of bodies) allowance.leave();
  bodies = [];
  while (process.memoryUsage().arrayBuffers > 100e6) await pause(20);
  console.log(objects.length);
`;

test("the memory of a burst of bodies is free again without further bodies", async () => {
  const module = new URL("./byte-budget.ts", import.meta.url).href;
  const args = ["--input-type=module", "--eval", BURST, module];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  expect(stdout).toBe("400000\n");
}, 90_000);
