// Guarantees of alert rules: each crossing of a threshold is reported once, and again after it has ended.
import { formatCredits } from "@gr/money";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  type AlertRules,
  type Crossing,
  decideAlerts,
  FEWEST_REQUESTS,
  RATE_WINDOW_MS,
  type Readings,
} from "./alert-rules.ts";

const rules: AlertRules = { lowBalance: 50_000n, budgetPercents: [50, 80, 100], failurePercent: 20 };
const calm: Readings = { balance: 100_000n, budgets: [], requests: { failed: 0, ended: 0 } };
const NOW = Date.UTC(2026, 10, 27);

/** Checks one account again and again, as the store does between the checks. */
class Account {
  readonly rules: AlertRules;
  crossings: readonly Crossing[] = [];
  now = NOW;

  constructor(with_: Partial<AlertRules> = {}) {
    this.rules = { ...rules, ...with_ };
  }

  /** Returns the kinds of the reported alerts, of budgets with the percent. */
  check(readings: Partial<Readings>): string[] {
    const options = { now: this.now, format: formatCredits };
    const decision = decideAlerts(this.rules, { ...calm, ...readings }, this.crossings, options);
    const { alerts, crossed, ended } = decision;
    const isReplaced = (one: Crossing) =>
      crossed.some(
        (next) => next.kind === one.kind && next.subject === one.subject && next.percent === one.percent,
      );
    this.crossings = [
      ...this.crossings.filter((one) => !ended.includes(one) && !isReplaced(one)),
      ...crossed,
    ];
    return alerts.map(({ kind, facts }) => (kind === "budget" ? `${kind} ${facts["percent"]}` : kind));
  }
}

const budget = (used: bigint, limit = 100n, period = "1", keyId = "k") => ({
  ...{ id: keyId, name: "a key", level: "key" as const, limit, used, period },
});
const spent = (...of: Parameters<typeof budget>) => ({ budgets: [budget(...of)] });

describe("a low balance", () => {
  test("is reported once, and again after a top-up", () => {
    const account = new Account();
    expect(account.check({ balance: 50_000n })).toEqual([]);
    expect(account.check({ balance: 49_999n })).toEqual(["low_balance"]);
    expect(account.check({ balance: -1n })).toEqual([]);
    expect(account.check({ balance: 50_000n })).toEqual([]);
    expect(account.check({ balance: 0n })).toEqual(["low_balance"]);
  });

  test("has the amounts", () => {
    const options = { now: NOW, format: formatCredits };
    expect(decideAlerts(rules, { ...calm, balance: 42_000n }, [], options).alerts).toEqual([
      { kind: "low_balance", facts: { balance: "4.2000", threshold: "5.0000" } },
    ]);
  });
});

describe("a budget", () => {
  test("costs as many reads of known crossings among a thousand budgets as among ten", () => {
    const readsOf = (count: number) => {
      let reads = 0;
      const budgets = Array.from({ length: count }, (_, no) => budget(100n, 100n, "1", `key ${no}`));
      const known = budgets.flatMap(({ id: subject }) =>
        rules.budgetPercents.map((percent) => ({
          get kind() {
            reads += 1;
            return "budget" as const;
          },
          ...{ subject, percent, period: "1", crossedAt: NOW },
        })),
      );
      const decision = decideAlerts(rules, { ...calm, budgets }, known, { now: NOW, format: formatCredits });
      expect(decision).toEqual({ alerts: [], crossed: [], ended: [] });
      return reads / known.length;
    };
    expect(readsOf(1_000)).toBe(readsOf(10));
  });

  test("is reported at each of its percents, once", () => {
    const account = new Account();
    const reported = [49n, 50n, 79n, 80n, 99n, 100n, 100n].flatMap((used) => account.check(spent(used)));
    expect(reported).toEqual(["budget 50", "budget 80", "budget 100"]);
  });

  test("is reported once, at the highest percent, when several are crossed together", () => {
    const account = new Account();
    expect(account.check(spent(90n))).toEqual(["budget 80"]);
    expect(account.check(spent(95n))).toEqual([]);
    expect(account.check(spent(100n))).toEqual(["budget 100"]);
  });

  test("is reported again in another period, also when no check saw its beginning", () => {
    const account = new Account();
    expect(account.check(spent(60n))).toEqual(["budget 50"]);
    expect(account.check(spent(60n, 100n, "2"))).toEqual(["budget 50"]);
    expect(account.check(spent(0n, 100n, "3"))).toEqual([]);
    expect(account.check(spent(60n, 100n, "3"))).toEqual(["budget 50"]);
  });

  test("is reported again after its limit was raised", () => {
    const account = new Account();
    expect(account.check(spent(100n))).toEqual(["budget 100"]);
    expect(account.check(spent(100n, 1_000n))).toEqual([]);
    expect(account.check(spent(500n, 1_000n))).toEqual(["budget 50"]);
  });

  test("of zero, and one without spending, is never reported", () => {
    const account = new Account();
    expect(account.check(spent(0n, 0n))).toEqual([]);
    expect(account.check(spent(0n))).toEqual([]);
  });

  test.each(["account", "member", "customer"] as const)(
    "of the level %s is reported in the same way, with its level and name",
    (level) => {
      const shared = { id: "b", name: "Ann", level, limit: 100_000n, used: 80_000n, period: "1" };
      const options = { now: NOW, format: formatCredits };
      const { alerts, crossed } = decideAlerts(rules, { ...calm, budgets: [shared] }, [], options);
      expect(crossed.map(({ subject, percent }) => [subject, percent])).toEqual([
        ["b", 50],
        ["b", 80],
      ]);
      expect(alerts).toEqual([
        {
          kind: "budget",
          facts: {
            level,
            budget_id: "b",
            budget_name: "Ann",
            percent: 80,
            spent: "8.0000",
            spend_limit: "10.0000",
          },
        },
      ]);
    },
  );

  test("of a key that is gone leaves nothing behind", () => {
    const account = new Account();
    account.check({ budgets: [budget(100n), budget(60n, 100n, "1", "other")] });
    account.check(spent(60n, 100n, "1", "other"));
    expect(account.crossings.map(({ subject }) => subject)).toEqual(["other"]);
  });

  test("has one alert at most for each percent and period, whatever is spent when", () => {
    const history = fc.array(fc.tuple(fc.bigInt(0n, 120n), fc.nat({ max: 3 })), { maxLength: 60 });
    fc.assert(
      fc.property(history, (checks) => {
        const account = new Account();
        const periods = checks.toSorted((a, b) => a[1] - b[1]);
        let [spentNow, last] = [0n, -1];
        const reported: string[] = [];
        for (const [more, period] of periods) {
          spentNow = period === last ? spentNow + more : more;
          last = period;
          reported.push(
            ...account.check(spent(spentNow, 200n, String(period))).map((alert) => `${period} ${alert}`),
          );
        }
        expect(new Set(reported).size).toBe(reported.length);
      }),
    );
  });
});

describe("failures", () => {
  const failing = (failed: number, ended = 100) => ({ requests: { failed, ended } });

  test("are reported from the percent on, once, and again after an hour below it", () => {
    const account = new Account();
    expect(account.check(failing(19))).toEqual([]);
    expect(account.check(failing(20))).toEqual(["failure_rate"]);
    expect(account.check(failing(100))).toEqual([]);
    account.now += RATE_WINDOW_MS - 1;
    expect(account.check(failing(10))).toEqual([]);
    expect(account.check(failing(30))).toEqual([]);
    account.now += 1;
    expect(account.check(failing(10))).toEqual([]);
    expect(account.check(failing(30))).toEqual(["failure_rate"]);
  });

  test("of a few requests are no rate", () => {
    const few = FEWEST_REQUESTS - 1;
    expect(new Account().check(failing(few, few))).toEqual([]);
    expect(new Account().check(failing(few + 1, few + 1))).toEqual(["failure_rate"]);
  });
});

test("rules that are off report nothing and end their crossings", () => {
  const off = new Account({ lowBalance: null, budgetPercents: [], failurePercent: null });
  const before = new Account();
  const all = { balance: 0n, ...spent(100n), requests: { failed: 50, ended: 50 } };
  expect(before.check(all)).toEqual(["low_balance", "budget 100", "failure_rate"]);
  off.crossings = before.crossings;
  off.now += RATE_WINDOW_MS;
  expect(off.check(all)).toEqual([]);
  expect(off.crossings).toEqual([]);
});
