// Guarantees of the figures behind alerts. Budgets are those of active keys with a limit, in the running period. Requests
// are the newest of an hour that have ended.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  BudgetLevel,
  GetCreditsResponseSchema,
  HoldState,
  ListTextsResponseSchema,
  type SpenderSchema,
  type SpenderUsage,
  SpenderUsageSchema,
  SpendPeriod,
} from "@gr/proto/billing";
import { type Budget, BudgetSchema, BudgetState, ListBudgetsResponseSchema } from "@gr/proto/budgets";
import { GenerationStatus, ListGenerationsResponseSchema } from "@gr/proto/media";
import { expect, test } from "@jest/globals";
import { RATE_WINDOW_MS } from "./alert-rules.ts";
import { createReadAccount } from "./read-account.ts";

const NOW = Date.UTC(2026, 10, 27);

/** Reads an account with these keys, one on each page, and these ends of requests. */
async function read(
  usage: readonly SpenderUsage[],
  ends: { texts?: HoldState[]; generations?: GenerationStatus[] } = {},
  wanted = { budgets: true, requests: true },
  shared: readonly Budget[] = [],
) {
  const calls: object[] = [];
  const readAccount = createReadAccount({
    billing: {
      getCredits: async (request) => {
        calls.push(request);
        const at = usage.findIndex(({ spender }) => spender?.spenderId === request.after) + 1;
        const page = request.bySpender === true ? usage.slice(at, at + 1) : [];
        const hasMore = at + 1 < usage.length;
        return create(GetCreditsResponseSchema, { remainingCredits: 42n, usage: [...page], hasMore });
      },
    },
    budgets: {
      listBudgets: async (request) => {
        calls.push(request);
        const at = shared.findIndex(({ budgetId }) => budgetId === request.after) + 1;
        const hasMore = at + 1 < shared.length;
        return create(ListBudgetsResponseSchema, { budgets: shared.slice(at, at + 1), hasMore });
      },
    },
    texts: {
      listTexts: async (request) => {
        calls.push(request);
        return create(ListTextsResponseSchema, { texts: (ends.texts ?? []).map((state) => ({ state })) });
      },
    },
    media: {
      listGenerations: async (request) => {
        calls.push(request);
        const generations = (ends.generations ?? []).map((status) => ({ status }));
        return create(ListGenerationsResponseSchema, { generations });
      },
    },
    clock: { now: () => NOW },
  });
  return { ...(await readAccount("account", wanted)), calls };
}

type NewSpender = Exclude<MessageInitShape<typeof SpenderSchema>, { $typeName: string }>;
type NewUsage = Exclude<MessageInitShape<typeof SpenderUsageSchema>, { $typeName: string }>;

type NewBudget = Exclude<MessageInitShape<typeof BudgetSchema>, { $typeName: string }>;

const key = (spenderId: string, more: NewSpender = {}, used: NewUsage = {}) =>
  create(SpenderUsageSchema, {
    spender: { spenderId, name: spenderId, active: true, period: SpendPeriod.LIFETIME, ...more },
    usedCredits: 70n,
    windowUsedCredits: 30n,
    ...used,
  });

test("budgets are those of active keys with a limit, from every page", async () => {
  const { balance, budgets, pages } = await read([
    key("unlimited"),
    key("off", { capCredits: 100n, active: false }),
    key("whole life", { capCredits: 100n }),
    key("daily", { capCredits: 100n, period: SpendPeriod.DAY }, { windowStart: 5n }),
    key("unused", { capCredits: 100n, period: SpendPeriod.DAY }, { windowUsedCredits: 0n }),
  ]);
  expect([balance, pages]).toEqual([42n, 5]);
  expect(budgets.map(({ id, level, used, limit, period }) => [id, level, used, limit, period])).toEqual([
    ["whole life", "key", 70n, 100n, "lifetime"],
    ["daily", "key", 30n, 100n, "5"],
    ["unused", "key", 0n, 100n, "unused"],
  ]);
});

test("budgets above keys are those that are open and have a limit, from every page, in their window", async () => {
  const budget = (budgetId: string, level: BudgetLevel, more: NewBudget = {}) =>
    create(BudgetSchema, {
      ...{
        budgetId,
        level,
        name: `Name of ${budgetId}`,
        state: BudgetState.OPEN,
        period: SpendPeriod.LIFETIME,
      },
      ...{ limitCredits: 100n, usedCredits: 30n, lifetimeUsedCredits: 70n, ...more },
    });
  const all = [
    budget("root", BudgetLevel.ACCOUNT),
    budget("ann", BudgetLevel.MEMBER, { period: SpendPeriod.MONTH, resetsAt: 5n }),
    budget("acme", BudgetLevel.CUSTOMER),
    budget("closed", BudgetLevel.MEMBER, { state: BudgetState.CLOSED }),
    budget("expired", BudgetLevel.MEMBER, { state: BudgetState.EXPIRED }),
    create(BudgetSchema, { budgetId: "unlimited", level: BudgetLevel.MEMBER, state: BudgetState.OPEN }),
  ];
  const { budgets, pages, calls } = await read([], {}, { budgets: true, requests: false }, all);
  expect(budgets).toEqual([
    { id: "root", name: "Name of root", level: "account", limit: 100n, used: 30n, period: "lifetime" },
    { id: "ann", name: "Name of ann", level: "member", limit: 100n, used: 30n, period: "5" },
    { id: "acme", name: "Name of acme", level: "customer", limit: 100n, used: 30n, period: "lifetime" },
  ]);
  // One call for the keys, and five for budgets after the first page.
  expect(pages).toBe(6);
  const levels = [BudgetLevel.ACCOUNT, BudgetLevel.MEMBER, BudgetLevel.CUSTOMER];
  expect(calls).toContainEqual({ accountId: "account", levels, limit: 1_000, after: "" });
});

test("ten pages of keys are read, and no more", async () => {
  const { budgets, pages } = await read(
    Array.from({ length: 15 }, (_, at) => key(`key ${at}`, { capCredits: 1n })),
  );
  expect([budgets.length, pages]).toEqual([10, 10]);
});

test("requests that ended within the hour count, without running, blocked and cancelled ones", async () => {
  const { requests, calls } = await read([], {
    texts: [HoldState.CAPTURED, HoldState.RELEASED, HoldState.OPEN],
    generations: [
      GenerationStatus.SUCCEEDED,
      GenerationStatus.FAILED,
      GenerationStatus.FAILED,
      GenerationStatus.BLOCKED,
      GenerationStatus.CANCELLED,
      GenerationStatus.RUNNING,
    ],
  });
  expect(requests).toEqual({ failed: 3, ended: 5 });
  const since = BigInt(NOW - RATE_WINDOW_MS);
  expect(calls).toContainEqual({ accountId: "account", beganAfter: since, limit: 100 });
  expect(calls).toContainEqual({ accountId: "account", createdAfter: since, limit: 100 });
});

test("only the figures of the account's rules are read", async () => {
  const { budgets, calls } = await read(
    [key("k", { capCredits: 1n })],
    {},
    { budgets: false, requests: false },
  );
  expect([budgets, calls.length]).toEqual([[], 1]);
});
