// Budgets as a tree: all budgets of a chain admit a hold or none does, and a refusal names the budget that refuses.
import { describe, expect, test } from "@jest/globals";
import type { BudgetDefinition } from "./budget.ts";
import { checkSpender } from "./judge/judge-place.ts";
import type { Place } from "./operation.ts";
import { ACCOUNT, budget, KEY, LedgerUnderTest, TAG, THURSDAY } from "./test/ledger-under-test.ts";

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
  test("has at most four levels", () => {
    const ledger = fourLevels();
    expect(ledger.put(budget("fifth", { parentId: "job" })).code).toBe("invalid_parent");
    expect(ledger.put(budget("sibling", { parentId: KEY })).code).toBe("done");
  });

  test("has parents that exist and never change", () => {
    const ledger = fourLevels();
    expect(ledger.put(budget("orphan", { parentId: "nobody" })).code).toBe("invalid_parent");
    expect(ledger.put(budget("own parent", { parentId: "own parent" })).code).toBe("invalid_parent");
    expect(ledger.put({ ...ledger.budget("job").definition, parentId: "member" }).code).toBe(
      "invalid_parent",
    );
    expect(ledger.put({ ...ledger.budget("member").definition, parentId: null }).code).toBe("invalid_parent");
  });

  test("stores the highest revision of a budget, and the same one again", () => {
    const ledger = fourLevels();
    const definition = budget("key 2", { revision: 5n, limit: 5n });
    expect(ledger.put(definition).code).toBe("done");
    expect(ledger.put({ ...definition, limit: 4n, revision: 4n }).code).toBe("stale_revision");
    expect(ledger.budget("key 2").definition).toBe(definition);
    expect(ledger.put(definition).code).toBe("done");
    expect(ledger.put({ ...definition, limit: 6n, revision: 6n }).code).toBe("done");
    expect(ledger.budget("key 2")).toMatchObject({ no: 5, definition: { limit: 6n } });
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
