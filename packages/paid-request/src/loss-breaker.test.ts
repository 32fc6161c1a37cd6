// The breaker of losses, by its rules: which bills close a route, for which accounts, and until when.
import { PICO_PER_CREDIT, PICO_PER_USD, type PicoUsd } from "@gr/money";
import { ManualClock } from "@gr/testing";
import { beforeEach, expect, test } from "@jest/globals";
import { LOSS_COOL_DOWN_MS, LossBreaker } from "./loss-breaker.ts";
import { lossCalls } from "./loss-calls.ts";
import type { Route } from "./order.ts";

const route = { provider: "first", upstreamModel: "model" };
const HELD = 10_000n;
const HOLD: PicoUsd = HELD * PICO_PER_CREDIT;

let clock: ManualClock;
let breaker: LossBreaker;
let closed: (string | undefined)[];
let reopened: Route[];

beforeEach(() => {
  clock = new ManualClock();
  closed = [];
  reopened = [];
  breaker = new LossBreaker(clock, {
    routeClosed: (_, accountId) => closed.push(accountId),
    routeReopened: (each) => reopened.push(each),
  });
});

const bill = (accountId: string, cost: PicoUsd, charge: bigint | undefined = HELD, held = HELD) =>
  breaker.recordBill(route, { accountId, held, charge }, cost);
const closedFor = (...accounts: string[]) => accounts.filter((account) => breaker.isClosed(route, account));

test("a loss closes the route for its account alone", () => {
  bill("a", 2n * HOLD);
  expect(closedFor("a", "b")).toEqual(["a"]);
  expect(breaker.isClosed({ ...route, upstreamModel: "other" }, "a")).toBe(false);
  expect(breaker.isClosed({ ...route, provider: "second" }, "a")).toBe(false);
  expect(closed).toEqual(["a"]);
});

test("losses of two accounts close the route for all", () => {
  bill("a", 2n * HOLD);
  bill("a", 2n * HOLD);
  expect(closedFor("a", "b", "c")).toEqual(["a"]);
  bill("b", 2n * HOLD);
  expect(closedFor("a", "b", "c")).toEqual(["a", "b", "c"]);
  bill("c", 2n * HOLD);
  expect(closed).toEqual(["a", undefined]);
});

test("one bill above ten holds closes the route for all, delivered or not", () => {
  bill("a", 10n * HOLD);
  expect(closedFor("a", "b")).toEqual(["a"]);
  bill("a", 10n * HOLD + 1n);
  expect(closedFor("a", "b")).toEqual(["a", "b"]);
  clock.advance(LOSS_COOL_DOWN_MS);
  breaker.recordBill(route, { accountId: "a", held: HELD, charge: undefined }, 11n * HOLD);
  expect(closedFor("a", "b")).toEqual(["a", "b"]);
});

test.each([
  ["the whole hold is a failure's cost", HOLD, undefined, HELD],
  ["a delivered answer is billed as charged", HOLD, HELD, HELD],
  ["the loss is 0.01 USD of a tiny charge", PICO_PER_USD / 100n + PICO_PER_CREDIT, 1n, 1n],
  ["the loss is a tenth of the charge", HOLD + HOLD / 10n, HELD, HELD],
] as const)("nothing closes when %s", (_, cost, charge, held) => {
  breaker.recordBill(route, { accountId: "a", held, charge }, cost);
  expect(closedFor("a")).toEqual([]);
  breaker.recordBill(route, { accountId: "a", held, charge }, cost + 1n);
  expect(closedFor("a").length).toBe(cost === HOLD ? 0 : 1);
});

test("a charge below the hold counts, not the hold", () => {
  bill("a", HOLD, HELD / 2n);
  expect(closedFor("a", "b")).toEqual(["a"]);
});

test("a bill of a free model above the tolerated loss closes the route for all", () => {
  bill("a", PICO_PER_USD, 0n, 0n);
  expect(closedFor("a", "b")).toEqual(["a", "b"]);
});

test("the route opens 15 minutes after the last loss, and the loss of another account then closes it for that account", () => {
  bill("a", 2n * HOLD);
  clock.advance(LOSS_COOL_DOWN_MS - 1);
  expect(breaker.closings()).toMatchObject([{ route }]);
  bill("a", 2n * HOLD);
  clock.advance(LOSS_COOL_DOWN_MS - 1);
  expect(closedFor("a", "b")).toEqual(["a"]);
  clock.advance(1);
  expect(closedFor("a", "b")).toEqual([]);
  expect(breaker.closings()).toEqual([]);
  bill("b", 2n * HOLD);
  expect(closedFor("a", "b")).toEqual(["b"]);
});

test("operators see closed routes with their losses, and reopen one of them for all accounts", async () => {
  const other = { ...route, upstreamModel: "other" };
  const calls = lossCalls(breaker);
  bill("a", 2n * HOLD);
  breaker.recordBill(other, { accountId: "a", held: HELD, charge: HELD }, 11n * HOLD);
  const reopensAt = BigInt(clock.now() + LOSS_COOL_DOWN_MS);
  expect(await calls.listClosedRoutes()).toEqual({
    routes: [
      { ...route, accountId: "a", reopensAt, lossPicoUsd: HOLD },
      { ...other, accountId: "", reopensAt, lossPicoUsd: 10n * HOLD },
    ],
  });
  expect(await calls.reopenRoute(other)).toEqual({ reopened: true });
  expect(await calls.reopenRoute(other)).toEqual({ reopened: false });
  expect(breaker.isClosed(other, "b")).toBe(false);
  expect(closedFor("a")).toEqual(["a"]);
  expect(reopened).toEqual([other]);
  clock.advance(LOSS_COOL_DOWN_MS);
  expect(await calls.reopenRoute(route)).toEqual({ reopened: false });
  expect(await calls.listClosedRoutes()).toEqual({ routes: [] });
});

test("a reopened route is closed again by the next loss, for its account alone", () => {
  bill("a", 2n * HOLD);
  breaker.reopen(route);
  bill("b", 2n * HOLD);
  expect(closedFor("a", "b")).toEqual(["b"]);
});
