// Windows of spend limits: their bounds, their numbers, and holds that outlive them. The time of an account never falls.
import { describe, expect, test } from "@jest/globals";
import type { Budget, BudgetDefinition } from "./budget.ts";
import { hasNewWindow } from "./judge/admission.ts";
import { HOUR, KEY, LedgerUnderTest, THURSDAY } from "./test/ledger-under-test.ts";
import { DAY_MS, PERIODS, type Period, windowEnd, windowStart } from "./window.ts";

const CALENDAR = ["day", "week", "month"] as const;

describe("bounds", () => {
  test.each([
    ["day", "2026-01-15T00:00:00Z", "2026-01-15T00:00:00Z", "2026-01-16T00:00:00Z"],
    ["day", "2026-01-15T23:59:59.999Z", "2026-01-15T00:00:00Z", "2026-01-16T00:00:00Z"],
    ["week", "2026-01-18T23:59:59.999Z", "2026-01-12T00:00:00Z", "2026-01-19T00:00:00Z"],
    ["week", "2026-01-19T00:00:00Z", "2026-01-19T00:00:00Z", "2026-01-26T00:00:00Z"],
    ["week", "1970-01-01T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"],
    ["month", "2028-02-29T23:59:59.999Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
    ["month", "2026-12-31T00:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
  ] as const)("the %s of %s", (period, now, start, end) => {
    expect(windowStart(period, Date.parse(now))).toBe(Date.parse(start));
    expect(windowEnd(period, Date.parse(start))).toBe(Date.parse(end));
  });

  test("a lifetime has none", () => {
    expect(windowStart("lifetime", THURSDAY)).toBe(null);
    expect(windowEnd("lifetime", THURSDAY)).toBe(0);
  });

  test.each(CALENDAR)("each moment of a leap year lies in one %s, next to the one before", (period) => {
    let start = windowStart(period, Date.UTC(2028, 0, 1)) ?? 0;
    for (let now = Date.UTC(2028, 0, 1); now < Date.UTC(2029, 0, 2); now += 7 * HOUR) {
      const found = windowStart(period, now) ?? 0;
      if (found !== start) expect(found).toBe(windowEnd(period, start));
      start = found;
      expect(now - start).toBeGreaterThanOrEqual(0);
      expect(windowEnd(period, start)).toBeGreaterThan(now);
    }
  });
});

test.each(CALENDAR)("a reader whose clock is behind sees the latest window of a %s", (period) => {
  const start = windowStart(period, THURSDAY) ?? 0;
  const definition = { period } as BudgetDefinition;
  const budget = { definition, windowStart: start } as Budget;
  expect([start - 1, THURSDAY, windowEnd(period, start)].map((now) => hasNewWindow(budget, now))).toEqual([
    false,
    false,
    true,
  ]);
});

describe.each(CALENDAR)("a limit of a %s", (period) => {
  const end = windowEnd(period, windowStart(period, THURSDAY) ?? 0);

  test("begins at zero in the next window, at its first moment", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 10n, period });
    ledger.place("hold", 10n);
    ledger.capture("hold", 10n);
    ledger.now = end - 1;
    expect(ledger.place("early", 1n)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { resetsAt: end },
    });
    const { window } = ledger.budget();
    ledger.now = end;
    expect(ledger.place("next", 10n).code).toBe("done");
    expect(ledger.budget()).toMatchObject({ window: window + 1, windowStart: end, used: 10n });
    expect(ledger.window()).toEqual({ used: 0n, held: 10n });
  });

  test("counts a late capture in the window of its admission alone", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 10n, period });
    ledger.place("old", 9n);
    const { window } = ledger.budget();
    ledger.now = end;
    ledger.place("new", 10n);
    ledger.capture("old", 9n);
    expect(ledger.steps.at(-1)?.budgets).toEqual([{ budget: 1, window, used: 9n, held: 0n }]);
    expect(ledger.window()).toEqual({ used: 0n, held: 10n });
    expect(ledger.budget().used).toBe(9n);
    ledger.release("new");
    expect(ledger.window()).toEqual({ used: 0n, held: 0n });
  });

  test("keeps a hold of an ended window from growing, once the next has begun", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 100n, period });
    ledger.place("old", 9n);
    ledger.now = end;
    expect(ledger.extend("old", 10n).code).toBe("done");
    ledger.place("new", 1n);
    expect(ledger.extend("old", 11n)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { inFlight: false },
    });
    expect(ledger.extend("old", 10n, { deadlineAt: end + 9 * HOUR }).code).toBe("done");
    ledger.put({ ...ledger.budget().definition, limit: null });
    expect(ledger.extend("old", 11n).code).toBe("done");
    expect(ledger.window()).toEqual({ used: 0n, held: 1n });
  });

  test("does not begin again when the clock goes back", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 10n, period });
    ledger.now = end;
    ledger.place("hold", 10n);
    const { window } = ledger.budget();
    ledger.now = end - 1;
    expect(ledger.place("back", 1n)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { resetsAt: windowEnd(period, end) },
    });
    expect(ledger.budget()).toMatchObject({ window, windowStart: end });
  });
});

describe("a change of the period", () => {
  const pairs = PERIODS.flatMap((from) => PERIODS.map((to) => [from, to] as const));

  test.each(pairs)(
    "from %s to %s and back, twice within one day, closes each window with its open holds",
    (from, to) => {
      const ledger = new LedgerUnderTest().open(1_000n, { limit: 20n, period: from });
      const numbers: number[] = [];
      const admitted: number[] = [];
      const changes: readonly Period[] = [from, to, from, to];
      for (const [index, period] of changes.entries()) {
        ledger.put({ ...ledger.budget().definition, period });
        numbers.push(ledger.budget().window);
        const isNew = index === 0 || from !== to;
        expect(ledger.window()).toEqual({ used: 0n, held: isNew ? 0n : 5n * BigInt(index) });
        expect(ledger.place(`hold ${index}`, 5n).code).toBe("done");
        admitted.push(ledger.hold(`hold ${index}`).chain[0]?.window ?? 0);
        ledger.now += HOUR;
      }
      expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
      expect(new Set(admitted).size).toBe(from === to ? 1 : 4);
      for (const index of changes.keys()) {
        ledger.capture(`hold ${index}`, BigInt(index + 1));
        const used = from === to ? BigInt(((index + 1) * (index + 2)) / 2) : BigInt(index + 1);
        expect(ledger.steps.at(-1)?.budgets).toMatchObject([{ window: admitted[index], used }]);
      }
      expect(ledger.budget()).toMatchObject({ used: 10n, requests: 4 });
      expect(ledger.window().used).toBe(from === to ? 10n : 4n);
      expect([...ledger.budget().totals.keys()]).toEqual([ledger.budget().window]);
    },
  );

  test("opens no window by itself: an extension of the old window is refused", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 20n });
    ledger.place("hold", 5n);
    ledger.put({ ...ledger.budget().definition, period: "day" });
    expect(ledger.extend("hold", 6n)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { inFlight: false },
    });
    expect(ledger.place("whole", 20n).code).toBe("done");
  });

  test("forgets the totals of windows without an open hold", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 20n });
    ledger.place("hold", 5n);
    ledger.release("hold");
    ledger.put({ ...ledger.budget().definition, period: "day" });
    expect(ledger.budget().totals.size).toBe(0);
  });

  test("other changes keep the window", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { limit: 20n, period: "day" });
    ledger.place("hold", 15n);
    const { window } = ledger.budget();
    ledger.put({ ...ledger.budget().definition, limit: 18n, name: "renamed", expiresAt: THURSDAY + DAY_MS });
    expect(ledger.budget()).toMatchObject({ window, windowStart: windowStart("day", THURSDAY) });
    expect(ledger.place("more", 4n)).toMatchObject({ refusal: { inFlight: true, budget: { limit: 18n } } });
  });
});

describe("holds of nothing", () => {
  test("keep the totals of their window until they end", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { period: "day" });
    ledger.place("charged", 50n);
    ledger.place("free", 0n);
    const { window } = ledger.budget();
    ledger.extend("charged", 51n);
    ledger.capture("charged", 50n);
    ledger.now += DAY_MS;
    ledger.place("next day", 1n);
    ledger.capture("free", 0n);
    expect(ledger.steps.at(-1)?.budgets).toEqual([{ budget: 1, window, used: 50n, held: 0n }]);
    expect([...ledger.budget().totals.keys()]).toEqual([window + 1]);
  });

  test("of a past window grow in a budget without a limit, beside its earlier charges", () => {
    const ledger = new LedgerUnderTest().open(1_000n, { period: "day" });
    ledger.place("charged", 50n);
    ledger.place("free", 0n);
    ledger.now += DAY_MS;
    ledger.place("next day", 1n);
    ledger.capture("charged", 50n);
    ledger.extend("free", 5n);
    expect(ledger.steps.at(-1)?.budgets).toMatchObject([{ used: 50n, held: 5n }]);
  });
});

describe("time", () => {
  test("of an account is that of its latest step or the clock, the later one", () => {
    const ledger = new LedgerUnderTest().open(100n);
    ledger.now = THURSDAY + 600_000;
    ledger.place("hold", 1n);
    ledger.now = THURSDAY;
    ledger.place("back", 1n);
    expect(ledger.hold("back").placedAt).toBe(THURSDAY + 600_000);
    expect(ledger.steps.map(({ at }) => at)).toEqual([...ledger.steps.map(({ at }) => at)].sort());
  });

  test("that goes back gives an expired key nothing, and ends no hold early", () => {
    const ledger = new LedgerUnderTest().open(100n, { expiresAt: THURSDAY + HOUR });
    ledger.place("hold", 1n);
    ledger.now = THURSDAY + 2 * HOUR;
    ledger.lease("hold", ledger.now + HOUR);
    ledger.now = THURSDAY;
    expect(ledger.place("another", 1n).code).toBe("spender_expired");
    expect(ledger.lease("hold").code).toBe("leased");
    ledger.now = THURSDAY + 3 * HOUR;
    expect(ledger.lease("hold").code).toBe("done");
  });

  test("that goes back gives no second free limit", () => {
    const ledger = new LedgerUnderTest().open(0n);
    ledger.freeLimit = 1;
    ledger.now = THURSDAY + DAY_MS;
    ledger.place("one", 0n);
    ledger.now = THURSDAY;
    expect(ledger.place("two", 0n).code).toBe("free_limit_exceeded");
    expect(ledger.account.freeUsed).toBe(1);
  });
});

test("a key's lifetime never ends", () => {
  const ledger = new LedgerUnderTest().open(1_000n, { limit: 10n });
  ledger.place("hold", 6n);
  ledger.capture("hold", 6n);
  ledger.now += 4_000 * DAY_MS;
  expect(ledger.place("next", 5n)).toMatchObject({
    code: "spend_limit_exceeded",
    refusal: { resetsAt: 0, budget: { id: KEY, period: "lifetime" } },
  });
  expect(ledger.place("rest", 4n).code).toBe("done");
});
