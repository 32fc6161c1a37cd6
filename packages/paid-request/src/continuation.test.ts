// Guarantees of Continuation: each part is charged once, and nobody continues an answer that the hold does not cover.
import type { Credits, PicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { ManualClock } from "@gr/testing";
import { beforeEach, expect, test } from "@jest/globals";
import { Continuation, chargeOfParts, costOfParts } from "./continuation.ts";
import type { Bill, Order, Route } from "./order.ts";
import type { Broken, Failed, FoundBill, Kinds } from "./ports.ts";

interface TextLike extends Kinds {
  order: Order;
  product: string;
  bill: Bill;
  found: FoundBill;
}

const PICO = 100_000_000n;
const order: Order = {
  ...{ id: "request", accountId: "account", keyId: "key", model: "model", priceVersion: "v1" },
  ...{ credits: 10n, deadlineAt: 0 },
};
const [first, second, third] = ["first", "second", "third"].map((provider) => ({
  provider,
  upstreamModel: "m",
})) as [Route, Route, Route];

let extensions: Credits[];
let mayGrow: boolean;
let billed: (readonly [Route, Bill])[];
let answers: Map<string, FoundBill>;
let continuation: Continuation<TextLike>;
beforeEach(() => {
  extensions = [];
  mayGrow = true;
  billed = [];
  answers = new Map();
  continuation = new Continuation<TextLike>({
    order,
    clock: new ManualClock(),
    lookUp: {
      canAsk: (provider) => answers.has(provider),
      ask: async (provider) => answers.get(provider) ?? "unknown",
    },
    held: () => 10n,
    billed: (...part) => billed.push(part),
    extend: async (least) => {
      extensions.push(least);
      return mayGrow
        ? { held: least }
        : { refused: new ServiceError("insufficient_credits", "There is no more credit.") };
    },
  });
});

const failure: Failed = {
  ...{ kind: "failed", cost: undefined, billId: "", isUnsent: false, mayFallBack: false },
  ...{ error: new ServiceError("provider_error", "The stream broke off."), why: "failed", message: "broken" },
};

/**
 * Returns a part that costs these credits.
 * @param readAgain cost of the text that the next provider reads; undefined: it cannot
 */
function broken(credits: bigint, readAgain: PicoUsd | undefined, more: Partial<Broken<TextLike>> = {}) {
  const seen: (readonly Bill[])[] = [];
  const end: Broken<TextLike> = {
    ...{ kind: "broken", error: failure.error, message: "broken", billId: "", isBilled: true },
    otherwise: () => failure,
    billOf: (found) => {
      const cost = found?.cost ?? credits * PICO;
      return { cost, charge: (cost + PICO - 1n) / PICO };
    },
    continueAt: (_next, parts) => {
      seen.push(parts);
      return readAgain;
    },
    ...more,
  };
  return { end, seen };
}

test("the hold covers all parts, and what the next provider reads again, before that provider is asked", async () => {
  const one = await continuation.settle(broken(3n, 2n * PICO).end, first, second);
  expect(one).toMatchObject({
    kind: "failed",
    cost: 3n * PICO,
    isMetered: true,
    mayFallBack: true,
    why: "broke_off",
  });
  const { end, seen } = broken(4n, 5n * PICO);
  await continuation.settle(end, second, third);
  expect(extensions).toEqual([10n + 3n + 2n, 10n + 3n + 4n + 5n]);
  const [parts = []] = seen;
  expect(parts.map(({ charge }) => charge)).toEqual([3n, 4n]);
  expect([costOfParts(parts), chargeOfParts(PICO, parts)]).toEqual([7n * PICO, 8n]);
});

test("a bill that the provider says is booked in full, and charged as far as it is trusted", async () => {
  answers.set("first", { cost: 9n * PICO });
  const { end, seen } = broken(3n, 0n, { billOf: (found) => ({ cost: found?.cost ?? 0n, charge: 5n }) });
  expect(await continuation.settle(end, first, second)).toMatchObject({ cost: 9n * PICO, isMetered: false });
  expect(costOfParts(seen[0] ?? [])).toBe(5n * PICO);
});

test("a provider that bills nobody has no cost to book; its part is charged all the same", async () => {
  const { end } = broken(3n, 0n, { isBilled: false });
  expect(await continuation.settle(end, first, second)).toMatchObject({ cost: 0n, isMetered: false });
  expect(extensions).toEqual([13n]);
});

test.each([
  ["no provider is left", 0n, true, undefined],
  ["the next provider cannot continue it", undefined, true, second],
  ["there is no money for it", 0n, false, second],
] as const)("the attempt ends as it would have when %s", async (_why, readAgain, grows, next) => {
  mayGrow = grows;
  expect(await continuation.settle(broken(3n, readAgain).end, first, next)).toBe(failure);
  mayGrow = true;
  // Such a part is not charged with a later one.
  const { end, seen } = broken(4n, 0n);
  await continuation.settle(end, second, third);
  expect(seen[0]?.map(({ charge }) => charge)).toEqual([4n]);
});

test("an end that is no break stays as it is", async () => {
  expect(await continuation.settle(failure, first, second)).toBe(failure);
  expect(extensions).toEqual([]);
});

test("the bill of each part is passed on with its route, so that a loss can close it", async () => {
  answers.set("first", { cost: 70n * PICO });
  await continuation.settle(broken(1n, PICO).end, first, second);
  expect(billed).toEqual([[first, { charge: 70n, cost: 70n * PICO }]]);
});
