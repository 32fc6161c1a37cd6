// A hold grows before it is used up, work waits while that is not decided, and ends when it is refused.
import type { Credits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { beforeEach, expect, test } from "@jest/globals";
import { GrowingHold } from "./growing-hold.ts";
import type { Extension } from "./ports.ts";

const refusal = { refused: new ServiceError("insufficient_credits", "no") };
let calls: string[];
let asked: [least: Credits, most: Credits | undefined][];
let answer: (extension: Extension) => Promise<void>;
let hold: GrowingHold;

beforeEach(() => {
  calls = [];
  asked = [];
  const extend = (least: Credits, most?: Credits) => {
    asked.push([least, most]);
    return new Promise<Extension>((resolve) => {
      answer = async (extension) => {
        resolve(extension);
        for (let turn = 0; turn < 5; turn += 1) await undefined;
      };
    });
  };
  hold = new GrowingHold({
    context: { held: 100n, extend },
    step: 10n,
    most: 1_000n,
    wait: () => calls.push("wait"),
    resume: () => calls.push("go on"),
    refused: ({ reason }) => calls.push(reason),
  });
});

test("nothing is asked for before three quarters are used", () => {
  hold.use(74n);
  expect(asked).toEqual([]);
});

test("it grows to twice its size in good time, and the work never waits", async () => {
  hold.use(75n);
  hold.use(80n);
  expect(asked).toEqual([[110n, 200n]]);
  await answer({ held: 200n });
  hold.use(149n);
  expect(asked).toHaveLength(1);
  hold.use(150n);
  expect([asked.length, calls]).toEqual([2, []]);
});

test("work that has used it up waits for the answer", async () => {
  hold.use(75n);
  hold.use(101n);
  hold.use(105n);
  expect(calls).toEqual(["wait"]);
  await answer({ held: 110n });
  expect([calls, asked.length]).toEqual([["wait", "go on"], 1]);
});

test("what it grew by may be used up already: then it is asked for once more", async () => {
  hold.use(75n);
  hold.use(150n);
  await answer({ held: 110n });
  expect([calls, asked]).toEqual([
    ["wait"],
    [
      [110n, 200n],
      [160n, 220n],
    ],
  ]);
  await answer({ held: 160n });
  expect(calls).toEqual(["wait", "go on"]);
});

test("a refusal in good time leaves what there is to be used; the next one ends the work, once", async () => {
  hold.use(75n);
  await answer(refusal);
  hold.use(100n);
  expect([calls, asked.length]).toEqual([[], 1]);
  hold.use(101n);
  expect([calls, asked.length]).toEqual([["wait"], 2]);
  await answer(refusal);
  hold.use(200n);
  expect([calls, asked.length]).toEqual([["wait", "insufficient_credits"], 2]);
});

test("a refusal that was asked for in good time and came late is asked for again", async () => {
  hold.use(75n);
  hold.use(101n);
  await answer(refusal);
  expect([calls, asked.length]).toEqual([["wait"], 2]);
  await answer({ held: 120n });
  expect(calls).toEqual(["wait", "go on"]);
});

test("one that covers all that can be used grows only when more is used all the same", () => {
  const extend = async (): Promise<Extension> => refusal;
  const full = new GrowingHold({
    context: { held: 100n, extend },
    step: 10n,
    most: 100n,
    wait: () => calls.push("wait"),
    resume: () => calls.push("go on"),
    refused: () => calls.push("refused"),
  });
  full.use(100n);
  expect(calls).toEqual([]);
  full.use(101n);
  expect(calls).toEqual(["wait"]);
});

test("a step does not go beyond the most that the work can use", async () => {
  hold.use(100n);
  await answer({ held: 995n });
  hold.use(996n);
  expect(asked.at(-1)).toEqual([1_000n, 1_000n]);
  await answer({ held: 1_000n });
  hold.use(1_001n);
  expect(asked.at(-1)).toEqual([1_011n, 1_011n]);
});

test("work that has ended is told nothing", async () => {
  hold.use(101n);
  hold.stop();
  await answer(refusal);
  expect(calls).toEqual(["wait"]);
});
