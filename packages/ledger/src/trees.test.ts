// Budgets as a tree: all budgets of a chain admit a hold or none does, and a refusal names the budget that refuses.
import { describe, expect, test } from "@jest/globals";
import type { BudgetDefinition, Level } from "./budget.ts";
import { checkSpender } from "./judge/judge-place.ts";
import type { BudgetChange, Place } from "./operation.ts";
import { ACCOUNT, budget, HOUR, KEY, LedgerUnderTest, TAG, THURSDAY } from "./test/ledger-under-test.ts";
import { PERIODS } from "./window.ts";

const LEVELS = [
  { id: "whole", level: "account", parentId: null },
  { id: "member", level: "member", parentId: "whole" },
  { id: KEY, level: "key", parentId: "member" },
  { id: "job", level: "job", parentId: KEY },
] as const;
type LevelId = (typeof LEVELS)[number]["id"];

function fourLevels(limits: Partial<Record<LevelId, bigint>> = {}, credit = 1_000n): LedgerUnderTest {
  const ledger = new LedgerUnderTest();
  ledger.run({ kind: "open", accountId: ACCOUNT });
  ledger.credit(credit);
  for (const { id, level, parentId } of LEVELS) {
    expect(ledger.put(budget(id, { level, parentId, limit: limits[id] ?? null })).code).toBe("done");
  }
  return ledger;
}

function change(ledger: LedgerUnderTest, id: LevelId, fields: Partial<BudgetDefinition>): void {
  ledger.put({ ...ledger.budget(id).definition, ...fields });
}

const windows = (ledger: LedgerUnderTest) => LEVELS.map(({ id }) => ledger.window(id));
const IN_JOB = { budgetId: "job" };

describe("a hold of the lowest of four budgets", () => {
  test("counts in each of them, and so does its charge", () => {
    const ledger = fourLevels();
    ledger.place("hold", 10n, IN_JOB);
    ledger.place("above", 5n, { budgetId: "member" });
    expect(windows(ledger).map(({ held }) => held)).toEqual([15n, 15n, 10n, 10n]);
    ledger.extend("hold", 12n);
    ledger.capture("hold", 7n);
    ledger.release("above");
    expect(windows(ledger)).toEqual(LEVELS.map(() => ({ used: 7n, held: 0n })));
    expect(LEVELS.map(({ id }) => [ledger.budget(id).used, ledger.budget(id).requests])).toEqual(
      LEVELS.map(() => [7n, 1]),
    );
    expect(ledger.steps.at(-3)?.budgets.map(({ budget: no }) => no)).toEqual([4, 3, 2, 1]);
  });

  describe.each(LEVELS)("with a limit on the budget $id", ({ id, level }) => {
    const refusalOf = (inFlight: boolean, resetsAt = 0) => ({
      code: "spend_limit_exceeded",
      refusal: {
        ...{ inFlight, available: 990n, resetsAt, expiresAt: 0, suspended: false },
        budget: {
          ...{ id, level, name: `the budget ${id}`, limit: 15n, isLowest: id === "job" },
          period: resetsAt === 0 ? "lifetime" : "day",
        },
      },
    });

    test("it alone refuses, by name, and no budget counts the refused hold", () => {
      const ledger = fourLevels({ [id]: 15n });
      expect(ledger.place("hold", 10n, IN_JOB).code).toBe("done");
      const before = windows(ledger);
      expect(ledger.place("beside", 6n, IN_JOB)).toEqual(refusalOf(true));
      expect(ledger.place("larger", 16n, IN_JOB)).toEqual(refusalOf(false));
      expect(ledger.extend("hold", 16n)).toEqual(refusalOf(false));
      expect(windows(ledger)).toEqual(before);
      expect(ledger.place("exact", 5n, IN_JOB).code).toBe("done");
    });

    test("it names the end of its own window", () => {
      const ledger = fourLevels({ [id]: 15n });
      change(ledger, id, { period: "day" });
      ledger.place("hold", 10n, IN_JOB);
      expect(ledger.place("larger", 16n, IN_JOB)).toEqual(refusalOf(false, Date.UTC(2026, 0, 16)));
    });

    test("a flexible hold takes a quarter of its room", () => {
      const ledger = fourLevels({ [id]: 60n });
      ledger.place("hold", 20n, IN_JOB);
      expect(ledger.place("flexible", 1n, { ...IN_JOB, most: 100n }).held).toBe(10n);
      expect(ledger.extend("flexible", 11n, { most: 100n }).held).toBe(17n);
    });
  });

  test("a limit that open holds alone use up is refused after one that is hopeless, and the lowest first", () => {
    const ledger = fourLevels({ job: 15n, member: 12n }, 13n);
    ledger.place("hold", 10n, IN_JOB);
    expect(ledger.place("one", 6n, IN_JOB).refusal?.budget?.id).toBe("job");
    expect(ledger.place("two", 13n, IN_JOB)).toMatchObject({
      refusal: { budget: { id: "member" }, inFlight: false },
    });
    expect(ledger.place("three", 16n, IN_JOB).refusal?.budget?.id).toBe("job");
    change(ledger, "job", { limit: null });
    change(ledger, "member", { limit: null });
    expect(ledger.place("four", 14n, IN_JOB)).toMatchObject({
      code: "insufficient_credits",
      refusal: { inFlight: false },
    });
    change(ledger, "whole", { limit: 10n });
    expect(ledger.place("five", 4n, IN_JOB)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { inFlight: true },
    });
  });

  test.each(LEVELS)("ends nothing when the budget $id is closed, and admits nothing", ({ id, level }) => {
    const ledger = fourLevels();
    ledger.place("hold", 10n, IN_JOB);
    change(ledger, id, { active: false });
    const isLowest = id === "job";
    const code = isLowest ? "spender_inactive" : "budget_closed";
    expect(ledger.place("another", 0n, IN_JOB).code).toBe(code);
    expect(ledger.extend("hold", 11n).code).toBe(code);
    if (!isLowest) {
      expect(ledger.place("another", 1n, IN_JOB).refusal).toMatchObject({
        budget: { id, level, isLowest: false },
        expiresAt: 0,
      });
    }
    change(ledger, id, { active: true, expiresAt: ledger.now });
    expect(ledger.place("another", 1n, IN_JOB)).toMatchObject({
      code: isLowest ? "spender_expired" : "budget_closed",
      refusal: { expiresAt: ledger.now },
    });
    change(ledger, id, { expiresAt: ledger.now + 1 });
    expect(ledger.place("another", 1n, IN_JOB).code).toBe("done");
    expect(ledger.capture("hold", 10n).code).toBe("done");
  });

  test("a suspended account is refused before a closed budget", () => {
    const ledger = fourLevels();
    change(ledger, "whole", { active: false });
    ledger.run({ kind: "suspend", accountId: ACCOUNT, suspended: true });
    expect(ledger.place("hold", 1n, IN_JOB)).toMatchObject({
      code: "spender_inactive",
      refusal: { suspended: true },
    });
  });
});

describe("the tree", () => {
  const all: readonly Level[] = ["account", "member", "customer", "key", "job"];

  test("has parents of a higher level, so at most four levels", () => {
    const ledger = new LedgerUnderTest().open(10n);
    for (const level of all) ledger.put(budget(`a ${level}`, { level }));
    const allowed = all.flatMap((parent) =>
      all
        .filter(
          (level) =>
            ledger.put(budget(`${parent} ${level}`, { level, parentId: `a ${parent}` })).code === "done",
        )
        .map((level) => `${parent} ${level}`),
    );
    expect(allowed).toEqual([
      ...["account member", "account customer", "account key", "account job"],
      ...["member key", "member job", "customer key", "customer job", "key job"],
    ]);
  });

  test("has parents that exist and never change, and levels that never change", () => {
    const ledger = fourLevels();
    ledger.put(budget("other", { level: "member" }));
    expect(ledger.put(budget("orphan", { parentId: "nobody" })).code).toBe("invalid_parent");
    expect(ledger.put(budget("own parent", { parentId: "own parent" })).code).toBe("invalid_parent");
    const { definition } = ledger.budget("job");
    for (const parentId of ["member", "other", "whole"]) {
      expect(ledger.put({ ...definition, parentId }).code).toBe("invalid_parent");
    }
    for (const level of all.filter((each) => each !== "job")) {
      expect(ledger.put({ ...definition, level }).code).toBe("invalid_parent");
      expect(ledger.put({ ...definition, level, parentId: null }).code).toBe("invalid_parent");
    }
    expect(ledger.budget("job").definition).toEqual(definition);
  });

  test("keeps a parent that a writer does not name", () => {
    const ledger = fourLevels({ member: 5n });
    expect(ledger.put({ ...ledger.budget(KEY).definition, parentId: null, limit: 3n }).code).toBe("done");
    expect(ledger.budget(KEY).definition).toMatchObject({ parentId: "member", limit: 3n });
    change(ledger, KEY, { limit: null });
    expect(ledger.place("hold", 6n).refusal?.budget?.id).toBe("member");
  });

  test("has at most 10,000 budgets without those of keys", () => {
    const ledger = new LedgerUnderTest().open(10n);
    const put = (level: Level) => (no: number) =>
      ({ kind: "budget", accountId: ACCOUNT, definition: budget(`${level} ${no}`, { level }) }) as const;
    const numbers = Array.from({ length: 9_999 }, (_, no) => no);
    ledger.decide(numbers.map(put("customer")));
    ledger.decide(numbers.slice(0, 10).map(put("key")));
    expect(ledger.put(budget("last", { level: "job" })).code).toBe("done");
    for (const level of all.filter((each) => each !== "key")) {
      expect(ledger.put(budget(`one more ${level}`, { level })).code).toBe("too_many_budgets");
    }
    expect(ledger.put(budget("one more key", { parentId: "customer 1" })).code).toBe("done");
    expect(ledger.put(budget("last", { level: "job", limit: 1n })).code).toBe("done");
  });

  test("changes single fields of a budget, and stores no step without a change", () => {
    const ledger = fourLevels({ member: 5n });
    const to = (changed: BudgetChange, budgetId = "member") =>
      ledger.run({ kind: "budget_change", accountId: ACCOUNT, budgetId, change: changed }).code;
    const before = ledger.budget("member").definition;
    expect([to({ limit: 9n }), to({ name: "renamed" })]).toEqual(["done", "done"]);
    const { length } = ledger.steps;
    expect([to({ limit: 9n, name: "renamed" }), to({})]).toEqual(["done", "done"]);
    expect(ledger.steps).toHaveLength(length);
    const revision = before.revision + 2n;
    expect(ledger.budget("member").definition).toEqual({ ...before, limit: 9n, name: "renamed", revision });
    expect(to({ active: false }, "nobody")).toBe("unknown_budget");
    expect(ledger.put({ ...before, parentId: null }).code).toBe("stale_revision");
  });
});

describe("a key without a parent that gets one", () => {
  const attach = (ledger: LedgerUnderTest) =>
    ledger.put({ ...ledger.budget(KEY).definition, parentId: "member" });

  function withMember(limit: bigint, fields: Partial<BudgetDefinition> = {}): LedgerUnderTest {
    const ledger = new LedgerUnderTest().open(1_000n);
    ledger.place("before", 10n);
    ledger.place("charged before", 10n);
    ledger.capture("charged before", 10n);
    ledger.put(budget("member", { level: "member", limit, ...fields }));
    return ledger;
  }

  test("counts in it from then on, and its open holds keep their chain", () => {
    const ledger = withMember(20n);
    expect(attach(ledger).code).toBe("done");
    expect(ledger.window("member")).toEqual({ used: 0n, held: 0n });
    expect(ledger.extend("before", 100n).code).toBe("done");
    expect(ledger.place("after", 20n).code).toBe("done");
    expect(ledger.window("member")).toEqual({ used: 0n, held: 20n });
    expect(ledger.place("beyond", 1n)).toMatchObject({
      refusal: { budget: { id: "member" }, inFlight: true },
    });
    ledger.capture("before", 90n);
    ledger.capture("after", 15n);
    expect(ledger.steps.at(-2)?.budgets.map(({ budget: no }) => no)).toEqual([1]);
    expect(ledger.steps.at(-1)?.budgets.map(({ budget: no }) => no)).toEqual([1, 2]);
    expect(ledger.window("member")).toEqual({ used: 15n, held: 0n });
    expect(ledger.budget(KEY).used).toBe(115n);
  });

  test("gets it once", () => {
    const ledger = withMember(20n);
    ledger.put(budget("other", { level: "member" }));
    attach(ledger);
    expect(attach(ledger).code).toBe("done");
    expect(ledger.put({ ...ledger.budget(KEY).definition, parentId: "other" }).code).toBe("invalid_parent");
  });

  test("is refused when it ends, and its earlier open holds grow on", () => {
    const ledger = withMember(20n, { expiresAt: THURSDAY + HOUR });
    attach(ledger);
    ledger.place("after", 5n);
    ledger.now += HOUR;
    expect(ledger.place("late", 1n).code).toBe("budget_closed");
    expect(ledger.extend("after", 6n).code).toBe("budget_closed");
    expect(ledger.extend("before", 11n).code).toBe("done");
    expect(ledger.capture("after", 5n).code).toBe("done");
    expect(ledger.window("member")).toEqual({ used: 5n, held: 0n });
  });

  test("brings the budgets below it along", () => {
    const ledger = withMember(20n);
    ledger.put(budget("job", { level: "job", parentId: KEY }));
    attach(ledger);
    ledger.place("of the job", 20n, IN_JOB);
    expect(ledger.steps.at(-1)?.budgets.map(({ budget: no }) => no)).toEqual([3, 1, 2]);
    expect(ledger.place("beyond", 1n, IN_JOB)).toMatchObject({ refusal: { budget: { id: "member" } } });
  });
});

describe("a place of a member from a key of all members", () => {
  function withMembers(): LedgerUnderTest {
    const ledger = new LedgerUnderTest().open(1_000n);
    ledger.put(budget("whole", { level: "account", limit: 30n }));
    ledger.put(budget("ann", { level: "member", parentId: "whole", limit: 20n }));
    ledger.put(budget("ben", { level: "member" }));
    return ledger;
  }
  const OF_ANN = { memberId: "ann" };

  test("counts in the budget of the member and in those above, and grows and ends there", () => {
    const ledger = withMembers();
    expect(ledger.place("hold", 20n, OF_ANN).code).toBe("done");
    expect(ledger.steps.at(-1)?.budgets.map(({ budget: no }) => no)).toEqual([1, 3, 2]);
    expect(ledger.place("beyond", 1n, OF_ANN)).toMatchObject({
      refusal: { budget: { id: "ann" }, inFlight: true },
    });
    expect(ledger.extend("hold", 21n)).toMatchObject({ refusal: { budget: { id: "ann" }, inFlight: false } });
    expect(ledger.place("of nobody", 50n).code).toBe("done");
    expect(ledger.place("of ben", 50n, { memberId: "ben" }).code).toBe("done");
    ledger.capture("hold", 15n);
    expect([ledger.window("ann"), ledger.window("whole")]).toEqual([
      { used: 15n, held: 0n },
      { used: 15n, held: 0n },
    ]);
    change(ledger, "whole", { active: false });
    expect(ledger.place("closed", 1n, OF_ANN)).toMatchObject({
      code: "budget_closed",
      refusal: { budget: { id: "whole" } },
    });
  });

  test("counts in its key alone without a budget of the member, and below another parent", () => {
    const ledger = withMembers();
    ledger.put(budget("customer", { level: "customer" }));
    ledger.put(budget("key of a customer", { parentId: "customer" }));
    for (const memberId of ["nobody", "whole", "customer", KEY]) {
      expect(ledger.place(`hold of ${memberId}`, 10n, { memberId }).code).toBe("done");
    }
    ledger.place("hold", 100n, { ...OF_ANN, budgetId: "key of a customer" });
    expect(ledger.window("ann")).toEqual({ used: 0n, held: 0n });
    expect(ledger.window("customer")).toEqual({ used: 0n, held: 100n });
    expect(ledger.window(KEY)).toEqual({ used: 0n, held: 40n });
  });

  test("is checked by dry runs as a place is", () => {
    const ledger = withMembers();
    const checked = checkSpender(
      ledger.account,
      { budgetId: KEY, ...OF_ANN, credits: 21n },
      { absentHolds: new Set(), claims: new Map() },
      ledger.now,
    );
    expect(checked).toMatchObject({ outcome: { refusal: { budget: { id: "ann" } } } });
  });
});

describe.each(LEVELS)("a change of the period of the budget $id with open holds", ({ id }) => {
  test.each(PERIODS.filter((period) => period !== "week"))(
    "from week to %s begins a window at zero there alone, and each end counts where its hold was admitted",
    (period) => {
      const ledger = fourLevels({ [id]: 15n });
      change(ledger, id, { period: "week" });
      ledger.place("old", 10n, IN_JOB);
      ledger.place("charged", 5n, IN_JOB);
      ledger.capture("charged", 5n);
      change(ledger, id, { period });
      const others = LEVELS.filter((each) => each.id !== id);
      expect(ledger.window(id)).toEqual({ used: 0n, held: 0n });
      for (const other of others) expect(ledger.window(other.id)).toEqual({ used: 5n, held: 10n });
      expect(ledger.extend("old", 11n)).toMatchObject({ refusal: { inFlight: false, budget: { id } } });
      expect(ledger.place("new", 15n, IN_JOB).code).toBe("done");
      ledger.capture("old", 10n);
      expect(ledger.window(id)).toEqual({ used: 0n, held: 15n });
      for (const other of others) expect(ledger.window(other.id)).toEqual({ used: 15n, held: 15n });
      ledger.capture("new", 15n);
      expect(windows(ledger).map(({ held }) => held)).toEqual([0n, 0n, 0n, 0n]);
      expect(LEVELS.map((each) => ledger.budget(each.id).used)).toEqual([30n, 30n, 30n, 30n]);
    },
  );
});

describe("the revisions of a budget", () => {
  test("store the highest one, and the same one again", () => {
    const ledger = fourLevels();
    const definition = budget("key 2", { revision: 5n, limit: 5n });
    expect(ledger.put(definition).code).toBe("done");
    expect(ledger.put({ ...definition, limit: 4n, revision: 4n }).code).toBe("stale_revision");
    expect(ledger.budget("key 2").definition).toBe(definition);
    expect(ledger.put(definition).code).toBe("done");
    expect(ledger.put({ ...definition, limit: 6n, revision: 6n }).code).toBe("done");
    expect(ledger.budget("key 2")).toMatchObject({ no: 5, definition: { limit: 6n } });
  });

  test("that must be new replaces no other one, not even an older one", () => {
    const ledger = new LedgerUnderTest().open(0n);
    const create = (fields: object) =>
      ledger.run({ kind: "budget", accountId: ACCOUNT, definition: budget("new", fields), isNew: true });
    expect(create({ limit: 5n }).code).toBe("done");
    const { definition } = ledger.budget("new");
    expect(create({ limit: 6n, revision: definition.revision + 1n }).code).toBe("stale_revision");
    expect(create({ limit: 6n }).code).toBe("stale_revision");
    expect(ledger.budget("new").definition).toEqual(definition);
  });
});

describe("a check of a spender", () => {
  const check = (ledger: LedgerUnderTest, credits: bigint) => {
    const checked = checkSpender(
      ledger.account,
      { budgetId: "job", credits },
      { absentHolds: new Set(), claims: new Map() },
      ledger.now,
    );
    return "missing" in checked ? undefined : checked.outcome;
  };

  test("ignores open holds, and asks each budget", () => {
    const ledger = fourLevels({ member: 20n });
    ledger.place("hold", 20n, IN_JOB);
    expect(check(ledger, 20n)?.code).toBe("done");
    expect(check(ledger, 21n)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { budget: { id: "member" } },
    });
    ledger.capture("hold", 20n);
    expect(check(ledger, 0n)?.code).toBe("spend_limit_exceeded");
    change(ledger, "member", { active: false });
    expect(check(ledger, 0n)?.code).toBe("budget_closed");
  });
});

test("10,000 budgets under one account never overrun it", () => {
  const ledger = new LedgerUnderTest();
  ledger.run({ kind: "open", accountId: ACCOUNT });
  ledger.credit(1_000_000n);
  ledger.put(budget("whole", { level: "account", limit: 5_000n, period: "month" }));
  const put = (no: number) => budget(`key ${no}`, { parentId: "whole", limit: 2n, period: "day" });
  ledger.decide(
    Array.from({ length: 10_000 }, (_, no) => ({ kind: "budget", accountId: ACCOUNT, definition: put(no) })),
  );
  const place = (holdId: string, no: number): Place => ({
    kind: "place",
    ...{ accountId: ACCOUNT, budgetId: `key ${no}`, holdId, credits: 1n },
    ...{ tag: TAG, deadlineAt: THURSDAY },
  });
  const batch = Array.from({ length: 10_000 }, (_, no) => place(`hold ${no}`, (no * 7) % 10_000));
  const { outcomes } = ledger.decide(batch);
  expect(outcomes.filter(({ code }) => code === "done")).toHaveLength(5_000);
  expect(ledger.window("whole")).toEqual({ used: 0n, held: 5_000n });
  expect(ledger.account.held).toBe(5_000n);
  ledger.decide(
    batch
      .slice(0, 5_000)
      .map(({ holdId }) => ({ kind: "capture", accountId: ACCOUNT, holdId, charge: 1n, cost: 0n })),
  );
  expect(ledger.window("whole")).toEqual({ used: 5_000n, held: 0n });
  expect(ledger.account.budgets.filter(({ used }) => used > 0n)).toHaveLength(5_001);
});
