// Guarantees of a client's limit: requests above the limit are refused, and no hold grows above it.
// Fields that limit the cost in other APIs are refused, because nothing would apply them.
import type { Billing, ExtendRequest } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { beforeEach, expect, test } from "@jest/globals";
import { maxCostOf, refuseAmountNames, requireWithin } from "./max-cost.ts";
import type { Order } from "./order.ts";
import { RunningHolds } from "./running-holds.ts";

const LIMIT = 500n;
const order: Order = {
  ...{ id: "request", accountId: "account", keyId: "key", model: "model", priceVersion: "v1" },
  ...{ credits: 100n, deadlineAt: 0, maxCost: LIMIT },
};

let asked: ExtendRequest[];
let cut: bigint[];
let holds: RunningHolds<never>;
beforeEach(() => {
  asked = [];
  cut = [];
  const extend: Billing["extend"] = async (request) => {
    asked.push(request);
    return { kind: "extended", held: request.mostCredits ?? request.credits };
  };
  const events = {
    notBooked: () => undefined,
    notCovered: (_: unknown, __: unknown, held: bigint) => cut.push(held),
  };
  holds = new RunningHolds<never>({ extend }, events, () => undefined);
  holds.add(order, order.credits);
});

const reasonOf = (act: () => void) => {
  try {
    act();
    return "accepted";
  } catch (error) {
    return error instanceof ServiceError ? `${error.reason} ${error.param}` : String(error);
  }
};

test("a request whose bound is above the limit is refused", () => {
  expect(maxCostOf({ "x-max-cost": "0.05" })).toBe(LIMIT);
  expect(maxCostOf({})).toBeUndefined();
  expect(reasonOf(() => requireWithin(LIMIT, LIMIT))).toBe("accepted");
  expect(reasonOf(() => requireWithin(LIMIT + 1n, undefined))).toBe("accepted");
  expect(reasonOf(() => requireWithin(LIMIT + 1n, LIMIT))).toBe("max_cost_exceeded x-max-cost");
});

test.each(["max_budget", "budget", "credit_limit", "max_cost"])("the field %s is refused", (name) => {
  expect(reasonOf(() => refuseAmountNames({ [name]: 1 }))).toBe(`invalid_value ${name}`);
  expect(reasonOf(() => refuseAmountNames({ [name]: null, model: "m" }))).toBe("accepted");
});

test("a hold grows up to the limit, and not above it", async () => {
  expect(await holds.extend("request", 0, LIMIT, 10n * LIMIT)).toEqual({ held: LIMIT });
  expect(asked).toMatchObject([{ credits: LIMIT, mostCredits: LIMIT }]);
  expect(await holds.extend("request", 0, LIMIT + 1n)).toMatchObject({
    refused: { reason: "max_cost_exceeded" },
  });
  expect(asked).toHaveLength(1);
});

test("a charge above the limit is cut to the limit, and the remainder is our loss", async () => {
  const bill = { charge: 3n * LIMIT, cost: 1n };
  expect(await holds.cover(order as never, bill as never)).toEqual({ charge: LIMIT, cost: 1n });
  expect(asked).toMatchObject([{ credits: LIMIT }]);
  expect(cut).toEqual([LIMIT]);
});
