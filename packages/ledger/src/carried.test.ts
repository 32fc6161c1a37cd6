// An account that was carried from before the chain: its totals, windows and open holds continue as if the chain had begun with them.
import { beforeEach, expect, test } from "@jest/globals";
import { apply, takeBack, type Undo } from "./apply.ts";
import type { Step } from "./step.ts";
import { ACCOUNT, budget, HOUR, KEY, LedgerUnderTest, TAG, THURSDAY } from "./test/ledger-under-test.ts";
import { DAY_MS } from "./window.ts";

const BLANK: Step = {
  ...{
    kind: "open",
    accountId: ACCOUNT,
    seq: 0,
    at: THURSDAY,
    id: ACCOUNT,
    credits: 0n,
    charge: 0n,
    cost: 0n,
  },
  ...{ billedBy: null, attempt: 0, placeSeq: null, deadlineAt: null, credited: 0n, debited: 0n, held: 0n },
  ...{ budgets: [], tag: null, claim: null, detail: null },
};
const MIDNIGHT = THURSDAY - 10 * HOUR;

/**
 * 100 credits, 10 of them an adjustment. The key has a limit of 60 a day; 30 are charged in earlier windows and 20 today, 5 are held
 * from an earlier window and 15 from today.
 */
const CARRIED: readonly Partial<Step>[] = [
  {},
  {
    kind: "carry",
    credits: 100n,
    detail: { carriedAccount: { adjusted: 10n, suspended: false, freeDay: MIDNIGHT, freeUsed: 2 } },
  },
  { kind: "budget", id: KEY, detail: { definition: budget(KEY, { limit: 60n, period: "day" }) } },
  {
    kind: "carry",
    charge: 30n,
    budgets: [{ budget: 1, window: 1, used: 30n, held: 0n }],
    detail: { carriedWindow: { windowStart: null, requests: 0 } },
  },
  {
    kind: "carry",
    charge: 20n,
    budgets: [{ budget: 1, window: 2, used: 20n, held: 0n }],
    detail: { carriedWindow: { windowStart: MIDNIGHT, requests: 7 } },
  },
  place("yesterday", 5n, { budget: 1, window: 1, used: 30n, held: 5n }, THURSDAY - DAY_MS),
  place("today", 15n, { budget: 1, window: 2, used: 20n, held: 15n }, THURSDAY - HOUR),
];

function place(id: string, credits: bigint, after: Step["budgets"][number], placedAt: number): Partial<Step> {
  const booked = [[1, 4n]] as const;
  const carriedHold = { placedAt, booked, kept: id === "today" ? { charge: 3n, cost: 2n } : null };
  return {
    ...{ kind: "place", id, credits, attempt: 2, deadlineAt: THURSDAY + HOUR, tag: TAG, budgets: [after] },
    claim: { key: `claim of ${id}`, fingerprint: "" },
    detail: { carriedHold },
  };
}

let ledger: LedgerUnderTest;
let undo: Undo;

beforeEach(() => {
  ledger = new LedgerUnderTest();
  ledger.freeLimit = 3;
  undo = [];
  let last = BLANK;
  for (const fields of CARRIED) {
    const { credits = 0n, charge = 0n, kind = "open" } = fields;
    const isHold = kind === "place";
    last = {
      ...{ ...BLANK, ...fields, seq: last.seq + 1 },
      credited: last.credited + (isHold ? 0n : credits),
      debited: last.debited + charge,
      held: last.held + (isHold ? credits : 0n),
    };
    apply(ledger.account, last, undo);
  }
});

test("a carried account has its credit, its adjustments and its free places", () => {
  const { credited, adjusted, debited, held, freeUsed, carriedAt } = ledger.account;
  expect({ credited, adjusted, debited, held, freeUsed, carriedAt }).toEqual({
    ...{ credited: 100n, adjusted: 10n, debited: 50n, held: 20n, freeUsed: 2, carriedAt: THURSDAY },
  });
  expect(ledger.place("free 3", 0n).code).toBe("done");
  expect(ledger.place("free 4", 0n).code).toBe("free_limit_exceeded");
});

test("a carried account has the charges of its current window and of its whole life", () => {
  const { used, requests, window, windowStart } = ledger.budget();
  expect({ used, requests, window, windowStart }).toEqual({
    used: 50n,
    requests: 7,
    window: 2,
    windowStart: MIDNIGHT,
  });
  expect(ledger.window()).toEqual({ used: 20n, held: 15n });
  expect(ledger.place("too large", 26n).code).toBe("spend_limit_exceeded");
  expect(ledger.place("fits", 25n).code).toBe("done");
});

test("a carried account begins its next window at zero", () => {
  ledger.now = THURSDAY + DAY_MS;
  expect(ledger.place("tomorrow", 30n).code).toBe("done");
  expect(ledger.window()).toEqual({ used: 0n, held: 30n });
});

test("a carried account charges a carried hold in the window that it was placed in", () => {
  expect(ledger.capture("yesterday", 5n).code).toBe("done");
  expect(ledger.window()).toEqual({ used: 20n, held: 15n });
  expect(ledger.capture("today", 15n).code).toBe("done");
  expect(ledger.window()).toEqual({ used: 35n, held: 0n });
  expect(ledger.account).toMatchObject({ debited: 70n, held: 0n });
});

test("a carried account grows a carried hold in its current window only", () => {
  expect(ledger.extend("yesterday", 6n).code).toBe("spend_limit_exceeded");
  expect(ledger.extend("today", 16n).code).toBe("done");
});

test("a carried account knows the booked costs and the kept amounts of a carried hold", () => {
  const { placedAt, kept, claim } = ledger.hold("today");
  expect({ placedAt, kept, claim }).toEqual({
    ...{ placedAt: THURSDAY - HOUR, kept: { charge: 3n, cost: 2n }, claim: "claim of today" },
  });
  // A report of the first attempt has its whole cost, of which 4 is booked.
  expect(ledger.next("today", 2, 6n, "first").loss?.late).toBe(2n);
});

test("a carried account books a late cost of a hold that ended before, without a place", () => {
  const ended = { ...ledger.hold("today"), id: "ended", seq: 0, state: "released" as const };
  ledger.account.ended.set("ended", ended);
  expect(ledger.release("ended", 9n).loss?.late).toBe(9n);
  expect(ledger.steps.at(-1)).toMatchObject({ kind: "late", id: "ended", placeSeq: null, cost: 9n });
  expect(ledger.release("ended", 9n).loss).toBeUndefined();
});

test("a carried account is not there after its steps are taken back", () => {
  takeBack(undo);
  expect(ledger.account).toEqual(new LedgerUnderTest().account);
});
