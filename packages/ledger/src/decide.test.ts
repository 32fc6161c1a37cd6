// Each operation on each state of a hold, as the table "Operations" of billing's README has it, and its repeats.
import { describe, expect, test } from "@jest/globals";
import { MOST_OPEN_HOLDS } from "./account.ts";
import { decide } from "./decide.ts";
import type { Outcome } from "./outcome.ts";
import { ACCOUNT, budget, HOUR, KEY, LedgerUnderTest, TAG, THURSDAY } from "./test/ledger-under-test.ts";
import { DAY_MS } from "./window.ts";

const HOLD = "hold";
const CLAIM = { key: "claimed key", fingerprint: "content" };

/** States of a hold of 10 credits. Its capture charged 7 credits at a cost of 5 pico. */
const STATES = {
  open: (ledger: LedgerUnderTest) => ledger.place(HOLD, 10n, { claim: CLAIM }),
  captured: (ledger: LedgerUnderTest) => {
    ledger.place(HOLD, 10n, { claim: CLAIM });
    ledger.capture(HOLD, 7n, 5n);
  },
  released: (ledger: LedgerUnderTest) => {
    ledger.place(HOLD, 10n, { claim: CLAIM });
    ledger.release(HOLD, 5n);
  },
  unknown: () => undefined,
} as const;
type State = keyof typeof STATES;

const OPERATIONS: Record<string, (ledger: LedgerUnderTest) => Outcome> = {
  place: (ledger) => ledger.place(HOLD, 10n, { claim: CLAIM }),
  "place by another key": (ledger) => ledger.place(HOLD, 10n, { budgetId: "other" }),
  capture: (ledger) => ledger.capture(HOLD, 7n, 5n),
  "capture of another charge": (ledger) => ledger.capture(HOLD, 6n, 5n),
  "capture of another cost": (ledger) => ledger.capture(HOLD, 7n, 4n),
  release: (ledger) => ledger.release(HOLD, 5n),
  "release as unresolved": (ledger) => ledger.release(HOLD, 5n, { unresolved: true }),
  extend: (ledger) => ledger.extend(HOLD, 12n),
  "next attempt": (ledger) => ledger.next(HOLD, 2),
  "repeat of the current attempt": (ledger) => ledger.next(HOLD, 1),
  "attempt after the next": (ledger) => ledger.next(HOLD, 3),
  lease: (ledger) => ledger.lease(HOLD),
  keep: (ledger) => ledger.keep(HOLD, 7n, 5n),
};

const TABLE: Record<string, Record<State, Outcome["code"]>> = {
  place: { open: "done", captured: "already_resolved", released: "already_resolved", unknown: "done" },
  "place by another key": {
    open: "already_resolved",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "done",
  },
  capture: { open: "done", captured: "done", released: "already_resolved", unknown: "unknown_hold" },
  "capture of another charge": {
    open: "done",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "unknown_hold",
  },
  "capture of another cost": {
    open: "done",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "unknown_hold",
  },
  release: { open: "done", captured: "already_resolved", released: "done", unknown: "unknown_hold" },
  "release as unresolved": {
    open: "done",
    captured: "already_resolved",
    released: "done",
    unknown: "unknown_hold",
  },
  extend: {
    open: "done",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "unknown_hold",
  },
  "next attempt": {
    open: "done",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "unknown_hold",
  },
  "repeat of the current attempt": {
    open: "done",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "unknown_hold",
  },
  "attempt after the next": {
    open: "already_resolved",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "unknown_hold",
  },
  lease: {
    open: "done",
    captured: "already_resolved",
    released: "already_resolved",
    unknown: "unknown_hold",
  },
  keep: { open: "done", captured: "already_resolved", released: "already_resolved", unknown: "unknown_hold" },
};

function ledgerWith(state: State): LedgerUnderTest {
  const ledger = new LedgerUnderTest().open(100n);
  ledger.put({ ...ledger.budget().definition, id: "other" });
  STATES[state](ledger);
  ledger.now += 2 * HOUR;
  return ledger;
}

describe.each(Object.keys(STATES) as State[])("on a hold that is %s", (state) => {
  test.each(Object.entries(OPERATIONS))("%s has the answer of the table", (name, operate) => {
    const ledger = ledgerWith(state);
    expect(operate(ledger).code).toBe(TABLE[name]?.[state]);
  });

  test.each(Object.entries(OPERATIONS))("a repeated %s changes nothing more", (_, operate) => {
    const ledger = ledgerWith(state);
    const first = operate(ledger);
    const { length } = ledger.steps;
    const again = operate(ledger);
    expect(ledger.steps).toHaveLength(length);
    if (first.code === "done" && first !== again) expect(["done", "leased"]).toContain(again.code);
    else expect(again.code).toBe(first.code);
  });
});

describe("a place", () => {
  test("reserves its credits and names its hold completely", () => {
    const ledger = new LedgerUnderTest().open(100n);
    ledger.place(HOLD, 10n, { claim: CLAIM });
    expect(ledger.account).toMatchObject({ credited: 100n, debited: 0n, held: 10n });
    expect(ledger.hold(HOLD)).toEqual({
      ...{ id: HOLD, seq: 4, state: "open", credits: 10n, charge: 0n, cost: 0n, placedAt: THURSDAY },
      ...{ deadlineAt: THURSDAY + HOUR, leasedUntil: 0, attempt: 1, tag: TAG, claim: CLAIM.key },
      ...{ chain: [{ budget: 1, window: 1 }], kept: undefined, booked: new Map() },
    });
  });

  test("is refused without enough credit, and says how much is free", () => {
    const ledger = new LedgerUnderTest().open(10n);
    ledger.place(HOLD, 4n);
    expect(ledger.place("larger", 11n)).toEqual({
      code: "insufficient_credits",
      refusal: { inFlight: false, available: 6n, resetsAt: 0, expiresAt: 0, suspended: false },
    });
    expect(ledger.place("beside", 7n)).toMatchObject({
      code: "insufficient_credits",
      refusal: { inFlight: true, available: 6n },
    });
    expect(ledger.place("exact", 6n).code).toBe("done");
    expect(ledger.account.held).toBe(10n);
  });

  test("never has a negative number of free credits", () => {
    const ledger = new LedgerUnderTest().open(10n);
    ledger.credit(-30n, "adjustment");
    expect(ledger.place(HOLD, 1n)).toMatchObject({ refusal: { available: 0n, inFlight: false } });
  });

  test.each([
    [100n, undefined, 10n, undefined],
    [100n, 60n, 25n, 25n],
    [100n, 20n, 20n, 20n],
    [100n, 12n, 12n, 12n],
    [30n, 60n, 10n, 10n],
  ])("with %s free credits and at most %s takes a quarter, within its bounds", (credit, most, size, held) => {
    const ledger = new LedgerUnderTest().open(credit);
    expect(ledger.place(HOLD, 10n, { most })).toEqual(
      held === undefined ? { code: "done" } : { code: "done", held },
    );
    expect(ledger.hold(HOLD).credits).toBe(size);
    expect(ledger.place(HOLD, 10n, { most }).held).toBe(held);
  });

  test("of a flexible size counts the room of its key's limit", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 80n });
    ledger.place("before", 40n);
    expect(ledger.place(HOLD, 1n, { most: 100n }).held).toBe(10n);
  });

  test("of nothing counts against the free limit of the UTC day", () => {
    const ledger = new LedgerUnderTest().open(0n);
    ledger.freeLimit = 2;
    expect(ledger.place("one", 0n).code).toBe("done");
    expect(ledger.place("two", 0n, { most: 9n })).toEqual({ code: "done", held: 0n });
    ledger.release("one");
    const resetsAt = Date.UTC(2026, 0, 16);
    expect(ledger.place("three", 0n)).toMatchObject({ code: "free_limit_exceeded", refusal: { resetsAt } });
    ledger.now = resetsAt - 1;
    expect(ledger.place("three", 0n).code).toBe("free_limit_exceeded");
    ledger.now = resetsAt;
    expect(ledger.place("three", 0n).code).toBe("done");
    expect(ledger.account).toMatchObject({ freeDay: resetsAt, freeUsed: 1 });
  });
});

describe("who may spend", () => {
  const CHECKS: Record<string, (ledger: LedgerUnderTest) => Outcome> = {
    place: (ledger) => ledger.place("another", 1n),
    "place of nothing": (ledger) => ledger.place("another", 0n),
    extension: (ledger) => ledger.extend(HOLD, 11n),
  };

  describe.each(Object.entries(CHECKS))("asked by a %s", (_, ask) => {
    test("an inactive key is refused", () => {
      const ledger = ledgerWith("open");
      ledger.put({ ...ledger.budget().definition, active: false });
      expect(ask(ledger)).toMatchObject({ code: "spender_inactive", refusal: { suspended: false } });
    });

    test("a suspended account is refused as such", () => {
      const ledger = ledgerWith("open");
      ledger.run({ kind: "suspend", accountId: ACCOUNT, suspended: true });
      expect(ask(ledger)).toMatchObject({ code: "spender_inactive", refusal: { suspended: true } });
      ledger.run({ kind: "suspend", accountId: ACCOUNT, suspended: false });
      expect(ask(ledger).code).toBe("done");
    });

    test("a key expires at its moment, and not before", () => {
      const ledger = ledgerWith("open");
      ledger.put({ ...ledger.budget().definition, expiresAt: ledger.now + 1 });
      expect(ask(ledger).code).toBe("done");
      const later = ledgerWith("open");
      later.put({ ...later.budget().definition, expiresAt: later.now });
      expect(ask(later)).toMatchObject({ code: "spender_expired", refusal: { expiresAt: later.now } });
    });
  });

  test("an unknown key is refused, and an unknown account", () => {
    const ledger = new LedgerUnderTest();
    expect(ledger.place(HOLD, 0n).code).toBe("spender_inactive");
    ledger.open(10n);
    expect(ledger.place(HOLD, 1n, { budgetId: "foreign" })).toMatchObject({
      code: "spender_inactive",
      refusal: { available: 10n },
    });
  });

  test("a hold of a key that spends no more ends as any other, and its deadline moves", () => {
    const ledger = ledgerWith("open");
    ledger.put({ ...ledger.budget().definition, active: false });
    expect(ledger.extend(HOLD, 10n, { deadlineAt: ledger.now + 9 * HOUR }).code).toBe("done");
    expect(ledger.hold(HOLD).deadlineAt).toBe(ledger.now + 9 * HOUR);
    expect(ledger.capture(HOLD, 10n).code).toBe("done");
  });
});

describe("an extension", () => {
  test("names the new total, and a repeat changes nothing", () => {
    const ledger = ledgerWith("open");
    ledger.extend(HOLD, 15n, { deadlineAt: ledger.now + HOUR });
    ledger.extend(HOLD, 15n, { deadlineAt: ledger.now + HOUR });
    expect(ledger.hold(HOLD)).toMatchObject({ credits: 15n, deadlineAt: ledger.now + HOUR });
    expect(ledger.account.held).toBe(15n);
    expect(ledger.window()).toEqual({ used: 0n, held: 15n });
  });

  test("never shrinks a hold and never moves its deadline back", () => {
    const ledger = ledgerWith("open");
    ledger.extend(HOLD, 12n, { deadlineAt: 5 });
    ledger.extend(HOLD, 4n, { deadlineAt: 6 });
    expect(ledger.hold(HOLD)).toMatchObject({ credits: 12n, deadlineAt: THURSDAY + HOUR });
  });

  test("takes a quarter of the free credits, up to its most", () => {
    const ledger = ledgerWith("open");
    expect(ledger.extend(HOLD, 12n, { most: 60n })).toEqual({ code: "done", held: 32n });
    expect(ledger.extend(HOLD, 12n, { most: 60n })).toEqual({ code: "done", held: 32n });
    expect(ledger.extend(HOLD, 33n, { most: 34n })).toEqual({ code: "done", held: 34n });
    expect(ledger.account.held).toBe(34n);
  });

  test("is refused by balance and by limit, with and without regard to other holds", () => {
    const ledger = ledgerWith("open");
    ledger.place("beside", 80n);
    expect(ledger.extend(HOLD, 101n)).toMatchObject({
      code: "insufficient_credits",
      refusal: { inFlight: false },
    });
    expect(ledger.extend(HOLD, 21n)).toMatchObject({
      code: "insufficient_credits",
      refusal: { inFlight: true },
    });
    ledger.put({ ...ledger.budget().definition, limit: 95n });
    expect(ledger.extend(HOLD, 96n)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { inFlight: false },
    });
    expect(ledger.extend(HOLD, 16n)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { inFlight: true },
    });
    expect(ledger.extend(HOLD, 15n).code).toBe("done");
  });
});

describe("a capture", () => {
  test("charges at most its hold, and the whole cost", () => {
    const ledger = ledgerWith("open");
    expect(ledger.capture(HOLD, 99n, 1_000n)).toEqual({ code: "done" });
    expect(ledger.account).toMatchObject({ credited: 100n, debited: 10n, held: 0n });
    expect(ledger.hold(HOLD)).toMatchObject({ state: "captured", charge: 10n, cost: 1_000n });
    expect(ledger.budget()).toMatchObject({ used: 10n, requests: 1 });
    expect(ledger.capture(HOLD, 99n, 1_000n)).toEqual({ code: "done" });
    expect(ledger.account.debited).toBe(10n);
  });

  test("has a provider always, also of nothing", () => {
    const ledger = ledgerWith("open");
    ledger.capture(HOLD, 0n, 0n);
    expect(ledger.steps.at(-1)).toMatchObject({ kind: "capture", charge: 0n, cost: 0n, billedBy: "first" });
    expect(ledger.budget().requests).toBe(1);
  });
});

describe("losses", () => {
  const failed = (cost: bigint) => ({ failed: cost, late: 0n, abandoned: undefined });
  const late = (cost: bigint) => ({ failed: 0n, late: cost, abandoned: undefined });
  const booked = (ledger: LedgerUnderTest) =>
    ledger.steps
      .filter(({ cost }) => cost > 0n)
      .map(({ kind, attempt, cost, billedBy }) => [kind, attempt, cost, billedBy]);

  test("a failed request's cost is booked to its provider", () => {
    const ledger = ledgerWith("open");
    expect(ledger.release(HOLD, 5n)).toEqual({ code: "done", loss: failed(5n) });
    expect(booked(ledger)).toEqual([["release", 1, 5n, "first"]]);
  });

  test("a hold that was given up says so, with its credits", () => {
    const ledger = ledgerWith("open");
    const loss = { failed: 0n, late: 5n, abandoned: 10n };
    expect(ledger.release(HOLD, 5n, { unresolved: true })).toEqual({ code: "done", loss });
    expect(ledger.steps.at(-1)).toMatchObject({ kind: "abandon", billedBy: "first" });
    const free = ledgerWith("open");
    expect(free.release(HOLD, 0n, { unresolved: true }).loss).toEqual({
      failed: 0n,
      late: 0n,
      abandoned: 10n,
    });
    expect(free.steps.at(-1)?.billedBy).toBe(null);
  });

  test.each(["captured", "released"] as const)("reports after the end of a %s hold are totals", (state) => {
    const ledger = ledgerWith(state);
    expect(ledger.release(HOLD, 8n).loss).toEqual(late(3n));
    expect(ledger.release(HOLD, 8n).loss).toBeUndefined();
    expect(ledger.release(HOLD, 6n).loss).toBeUndefined();
    expect(ledger.capture(HOLD, 7n, 20n)).toEqual({ code: "already_resolved", loss: late(12n) });
    expect(ledger.hold(HOLD)).toMatchObject({ state, cost: 5n, booked: new Map([[1, 20n]]) });
    expect(booked(ledger).slice(1)).toEqual([
      ["late", 1, 3n, "first"],
      ["late", 1, 12n, "first"],
    ]);
  });

  test("the cost of a provider other than the current one is ignored by a release", () => {
    const ledger = ledgerWith("open");
    ledger.next(HOLD, 2, 4n);
    expect(ledger.release(HOLD, 9n, { provider: "first" })).toEqual({ code: "done" });
    expect(ledger.release(HOLD, 9n, { provider: "first" })).toEqual({ code: "done" });
    expect(ledger.release(HOLD, 9n, { provider: "provider-2" }).loss).toEqual(late(9n));
    expect(booked(ledger)).toEqual([
      ["next", 2, 4n, "first"],
      ["late", 2, 9n, "provider-2"],
    ]);
  });

  test("a next attempt books the failed one, renames the hold, and keeps the later deadline", () => {
    const ledger = ledgerWith("open");
    expect(ledger.next(HOLD, 2, 4n)).toEqual({ code: "done", loss: failed(4n) });
    expect(ledger.next(HOLD, 2, 4n)).toEqual({ code: "done" });
    expect(ledger.next(HOLD, 3)).toEqual({ code: "done" });
    expect(ledger.steps.at(-1)).toMatchObject({
      kind: "next",
      attempt: 3,
      cost: 0n,
      billedBy: null,
      placeSeq: 5,
    });
    expect(ledger.hold(HOLD)).toMatchObject({
      ...{
        attempt: 3,
        deadlineAt: ledger.now + HOUR,
        booked: new Map([
          [1, 4n],
          [2, 0n],
        ]),
      },
      tag: { ...TAG, provider: "provider-3", upstreamModel: "model-3" },
    });
    ledger.capture(HOLD, 1n, 2n);
    expect(booked(ledger)).toEqual([
      ["next", 2, 4n, "first"],
      ["capture", 3, 2n, "provider-3"],
    ]);
  });

  test("a repeat with a biller books the rest to it, in any state of the hold", () => {
    const ledger = ledgerWith("open");
    ledger.next(HOLD, 2, 4n);
    expect(ledger.next(HOLD, 2, 9n).loss).toBeUndefined();
    expect(ledger.next(HOLD, 2, 9n, "first")).toEqual({ code: "done", loss: late(5n) });
    ledger.capture(HOLD, 1n, 1n);
    expect(ledger.next(HOLD, 2, 9n, "first")).toEqual({ code: "already_resolved" });
    expect(ledger.next(HOLD, 2, 10n, "first")).toEqual({ code: "already_resolved", loss: late(1n) });
    expect(ledger.next(HOLD, 3, 4n)).toEqual({ code: "already_resolved", loss: late(3n) });
    expect(booked(ledger).slice(-2)).toEqual([
      ["late", 1, 1n, "first"],
      ["late", 2, 3n, "provider-2"],
    ]);
  });
});

describe("a resolver", () => {
  test("gets an overdue hold once, until its lease ends", () => {
    const ledger = new LedgerUnderTest().open(100n);
    STATES.open(ledger);
    ledger.now = THURSDAY + HOUR - 1;
    expect(ledger.lease(HOLD).code).toBe("leased");
    ledger.now = THURSDAY + HOUR;
    expect(ledger.lease(HOLD, ledger.now + 500).code).toBe("done");
    ledger.now += 499;
    expect(ledger.lease(HOLD).code).toBe("leased");
    ledger.now += 1;
    expect(ledger.lease(HOLD).code).toBe("done");
  });

  test("is alone with its hold: no next attempt begins, and no answer is kept", () => {
    const ledger = ledgerWith("open");
    ledger.lease(HOLD);
    expect(ledger.next(HOLD, 2, 5n)).toEqual({ code: "already_resolved" });
    expect(ledger.next(HOLD, 1)).toEqual({ code: "done" });
    expect(ledger.keep(HOLD).code).toBe("leased");
    expect(ledger.capture(HOLD, 7n).code).toBe("done");
  });

  test("finds the kept amounts", () => {
    const ledger = ledgerWith("open");
    ledger.keep(HOLD, 7n, 5n);
    ledger.keep(HOLD, 8n, 6n);
    ledger.lease(HOLD);
    expect(ledger.hold(HOLD).kept).toEqual({ charge: 7n, cost: 5n });
    expect(ledger.keep(HOLD, 8n, 6n).code).toBe("done");
  });

  test("an answer is kept for a claimed request alone", () => {
    const ledger = new LedgerUnderTest().open(100n);
    ledger.place(HOLD, 10n);
    expect(ledger.keep(HOLD).code).toBe("unknown_hold");
  });
});

describe("credit", () => {
  test("rises and falls by deposits, refunds and adjustments", () => {
    const ledger = new LedgerUnderTest().open(10n);
    ledger.credit(-4n, "refund");
    ledger.credit(7n, "adjustment");
    ledger.credit(-20n, "adjustment");
    expect(ledger.account.credited).toBe(-7n);
    expect(ledger.steps.slice(-3).map(({ kind, credits, held }) => [kind, credits, held])).toEqual([
      ["refund", -4n, 0n],
      ["adjustment", 7n, 0n],
      ["adjustment", -20n, 0n],
    ]);
  });

  test("fits into 64 bits with a sign, in both directions", () => {
    const most = 2n ** 63n - 1n;
    const ledger = new LedgerUnderTest().open(most);
    expect(ledger.credit(1n).code).toBe("out_of_range");
    expect(ledger.account.credited).toBe(most);
    expect(ledger.credit(-most, "refund").code).toBe("done");
    expect(ledger.credit(-most, "adjustment").code).toBe("done");
    expect(ledger.credit(-1n, "adjustment").code).toBe("out_of_range");
  });

  test("has complete steps: a field without a value is null, zero or empty", () => {
    const ledger = new LedgerUnderTest().open(10n);
    const empty = {
      ...{ accountId: ACCOUNT, id: ACCOUNT, at: THURSDAY, credits: 0n, charge: 0n, cost: 0n, billedBy: null },
      ...{ attempt: 0, placeSeq: null, deadlineAt: null, credited: 0n, debited: 0n, held: 0n, budgets: [] },
      ...{ tag: null, claim: null, detail: null },
    };
    expect(ledger.steps[0]).toEqual({ ...empty, kind: "open", seq: 1 });
    const deposit = { kind: "deposit", seq: 2, id: "money-1", credits: 10n, credited: 10n };
    expect(ledger.steps[1]).toEqual({ ...empty, ...deposit });
    const { definition } = ledger.budget();
    expect(ledger.steps[2]).toEqual({
      ...{ ...empty, kind: "budget", seq: 3, id: KEY, credited: 10n },
      detail: { definition },
    });
    ledger.run({ kind: "suspend", accountId: ACCOUNT, suspended: true });
    const suspend = { kind: "suspend", seq: 4, credited: 10n, detail: { suspended: true } };
    expect(ledger.steps[3]).toEqual({ ...empty, ...suspend });
  });

  test("an opened account is opened once, and a suspended one suspended once", () => {
    const ledger = new LedgerUnderTest().open(0n);
    const { length } = ledger.steps;
    ledger.run({ kind: "open", accountId: ACCOUNT });
    ledger.run({ kind: "suspend", accountId: ACCOUNT, suspended: false });
    expect(ledger.steps).toHaveLength(length);
  });
});

describe("a batch", () => {
  test("is decided in order, each operation after the ones before it", () => {
    const ledger = new LedgerUnderTest().open(10n);
    const place = { kind: "place", accountId: ACCOUNT, budgetId: KEY, tag: TAG, deadlineAt: 0 } as const;
    const { outcomes, steps } = ledger.decide([
      { ...place, holdId: "one", credits: 10n },
      { ...place, holdId: "two", credits: 10n },
      { kind: "release", accountId: ACCOUNT, holdId: "one", cost: 0n, unresolved: false },
      { ...place, holdId: "two", credits: 10n },
      { kind: "capture", accountId: ACCOUNT, holdId: "two", charge: 10n, cost: 0n },
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([
      "done",
      "insufficient_credits",
      "done",
      "done",
      "done",
    ]);
    expect(steps.map(({ kind, seq }) => [kind, seq])).toEqual([
      ["place", 4],
      ["release", 5],
      ["place", 6],
      ["capture", 7],
    ]);
  });

  test("asks for the hold that it does not know, and changes nothing", () => {
    const ledger = new LedgerUnderTest().open(10n);
    const deposit = { kind: "deposit", accountId: ACCOUNT, id: "deposit", credits: 5n } as const;
    const capture = { kind: "capture", accountId: ACCOUNT, holdId: HOLD, charge: 1n, cost: 0n } as const;
    const decision = decide(ledger.accounts, [deposit, capture], ledger.facts, ledger.terms);
    expect(decision).toEqual({ missing: { hold: HOLD }, accountId: ACCOUNT });
    expect(ledger.account).toMatchObject({ seq: 3, credited: 10n });
  });

  test("needs the state and the facts of each account, and changes nothing without them", () => {
    const ledger = new LedgerUnderTest().open(10n);
    const deposit = { kind: "deposit", accountId: ACCOUNT, id: "deposit", credits: 5n } as const;
    expect(() => ledger.decide([deposit, { kind: "open", accountId: "not loaded" }])).toThrow(RangeError);
    expect(ledger.account.credited).toBe(10n);
  });
});

describe("open holds", () => {
  /** Places holds of one budget until one is refused. @returns their number, and the code of the refusal */
  function fill(ledger: LedgerUnderTest, budgetId: string): readonly [number, string] {
    for (let count = 0; ; count += 1) {
      const { code } = ledger.place(`${budgetId} ${count}`, 0n, { budgetId });
      if (code !== "done") return [count, code];
    }
  }

  test("of a key alone are three quarters of the largest number, and the rest is free for other keys", () => {
    const ledger = new LedgerUnderTest().open(100n, { period: "day" });
    ledger.put(budget("other"));
    expect(ledger.place("of yesterday", 0n).code).toBe("done");
    ledger.now += DAY_MS;
    expect(fill(ledger, KEY)).toEqual([MOST_OPEN_HOLDS * 0.75 - 1, "share_of_holds_used"]);
    expect(ledger.place("of yesterday", 0n).code).toBe("done");
    expect(ledger.extend("of yesterday", 5n).code).toBe("done");
    ledger.release(`${KEY} 2`);
    expect([1, 2].map((no) => ledger.place(`one more ${no}`, 0n).code)).toEqual([
      "done",
      "share_of_holds_used",
    ]);
    expect(fill(ledger, "other")).toEqual([MOST_OPEN_HOLDS * 0.1875, "share_of_holds_used"]);
  });

  test("of an account have a largest number, and each end makes room for one place", () => {
    const ledger = new LedgerUnderTest().open(100n);
    const keys = Array.from({ length: 9 }, (_, no) => `key ${no}`);
    for (const key of keys) ledger.put(budget(key));
    const filled = keys.map((key) => fill(ledger, key));
    expect(filled.reduce((sum, [count]) => sum + count, 0)).toBe(MOST_OPEN_HOLDS);
    expect(filled.at(-1)).toEqual([0, "too_many_holds"]);
    expect(ledger.place("key 0 1", 0n, { budgetId: "key 0" }).code).toBe("done");
    expect(ledger.extend("key 0 1", 5n).code).toBe("done");
    ledger.release("key 0 2");
    expect(fill(ledger, "key 8")).toEqual([1, "too_many_holds"]);
  });
});
