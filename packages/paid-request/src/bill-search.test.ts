// Bill searches of these tests find no bill within the first minutes. One more look-up follows a day after the last.
import type { Billing, ReleaseReason } from "@gr/clients";
import { expect, test } from "@jest/globals";
import { BillSearch, SEARCH_PAUSES } from "./bill-search.ts";
import { LossBreaker } from "./loss-breaker.ts";
import type { FoundBill, Kinds, LookUpResult, PaidRequestEvents } from "./ports.ts";

const DAY_MS = 86_400_000;

/** Returns the pauses and the booked costs of a search. The bill is visible from `visibleAt` milliseconds on. */
async function search(kind: "forEnded" | "forUnresolved", visibleAt: number) {
  const slept: number[] = [];
  const booked: bigint[] = [];
  let now = 0;
  let end = () => undefined as unknown;
  const ended = new Promise((resolve) => {
    end = () => resolve(undefined);
  });
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms);
      now += ms;
    },
  };
  const ask = async (): Promise<LookUpResult<FoundBill>> => {
    const isLast = slept.length === SEARCH_PAUSES[kind === "forEnded" ? "failed" : "unresolved"].length;
    if (isLast) setImmediate(end);
    return now >= visibleAt ? { cost: 7n } : "unknown";
  };
  const release = async (_id: string, _reason: ReleaseReason, cost: bigint) => void booked.push(cost);
  const events = { lateBill: () => undefined, notBooked: () => undefined };
  const bills = new BillSearch<Kinds>(
    {
      billing: { release } as unknown as Billing,
      lookUp: { canAsk: () => true, ask },
      events: events as unknown as PaidRequestEvents<Kinds>,
      clock,
      losses: new LossBreaker(clock, { routeClosed: () => undefined, routeReopened: () => undefined }),
    },
    SEARCH_PAUSES,
  );
  const route = { provider: "first", upstreamModel: "model" };
  const cover = { accountId: "account", held: 0n, charge: undefined };
  bills[kind]({ id: "request", route, billId: "", hasSeveralBills: false, booked: 0n, cover });
  await ended;
  return { slept, booked };
}

test.each(["forEnded", "forUnresolved"] as const)(
  "%s finds a bill that is there a day later",
  async (kind) => {
    const { slept, booked } = await search(kind, DAY_MS);
    expect(slept.at(-1)).toBe(DAY_MS);
    expect(slept.filter((ms) => ms >= DAY_MS)).toHaveLength(1);
    expect(booked).toEqual([7n]);
  },
);
