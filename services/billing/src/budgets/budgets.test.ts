// Budgets above keys. A change is stored before its answer, a list shows the use, and a refusal names the level alone.
import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BudgetLevel, type Outcome, OutcomeCode, SpendPeriod } from "@gr/proto/billing";
import { type Budget, BudgetState, type PutBudgetRequestSchema } from "@gr/proto/budgets";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import * as wallet from "../test/wallet.ts";

const { ACCOUNT, MEMBER, CUSTOMER, KEY, JOB } = BudgetLevel;
const { DONE, SPEND_LIMIT_EXCEEDED, BUDGET_CLOSED } = OutcomeCode;
const HOUR = 3_600_000;
const MIDNIGHT = Date.UTC(2026, 0, 16);

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
beforeEach(() => ledger.clock.set(THURSDAY));
afterAll(() => ledger.stopSound());

type PutInit = MessageInitShape<typeof PutBudgetRequestSchema>;

async function put(accountId: string, fields: PutInit = {}): Promise<Budget> {
  const budgetId = fields.budgetId ?? randomUUID();
  const { budget } = await ledger.budgets.putBudget({ accountId, ...fields, budgetId });
  if (budget === undefined) throw new Error("no budget was answered");
  return budget;
}

const create = (accountId: string, level: BudgetLevel, fields: PutInit = {}) =>
  put(accountId, { level, name: "a budget", ...fields });

const limitOf = (value: bigint) => ({ case: "limitCredits", value }) as const;

async function list(accountId: string, fields: object = {}) {
  const { budgets, hasMore } = await ledger.budgets.listBudgets({ accountId, ...fields });
  return { ids: budgets.map(({ budgetId }) => budgetId), hasMore, budgets };
}

const place = async (
  from: wallet.Wallet,
  credits: bigint,
  fields = {},
): Promise<Outcome & { id: string }> => {
  const operation = wallet.place(from, credits, fields);
  return { ...(await wallet.postOne(ledger.inProcess, operation)), id: operation.holdId };
};

/** An account with a budget of this level, and a key below it. */
async function openTree(level: BudgetLevel, fields: PutInit = {}, credits = 1_000n) {
  const accountId = await wallet.openAccount(ledger.inProcess, credits);
  const { budgetId } = await create(accountId, level, fields);
  const spenderId = await wallet.putSpender(ledger.inProcess, accountId, { parentId: budgetId });
  return { accountId, budgetId, key: { accountId, spenderId } };
}

describe("a budget", () => {
  test("is stored with its fields before the answer, and a repeat changes nothing", async () => {
    const accountId = await wallet.openAccount(ledger.inProcess, 0n);
    const { budgetId: parentId } = await create(accountId, ACCOUNT);
    const fields = {
      ...{ budgetId: randomUUID(), level: CUSTOMER, name: "Ünï 😀", parentId, period: SpendPeriod.MONTH },
      limit: limitOf(50n),
      expiry: { case: "expiresAt", value: BigInt(THURSDAY + HOUR) },
    } as const;
    const stored = {
      ...{ accountId, budgetId: fields.budgetId, parentId, level: CUSTOMER, name: "Ünï 😀" },
      ...{ limitCredits: 50n, period: SpendPeriod.MONTH, expiresAt: BigInt(THURSDAY + HOUR) },
      ...{ state: BudgetState.OPEN, createdAt: BigInt(THURSDAY), usedCredits: 0n, heldCredits: 0n },
      ...{ lifetimeUsedCredits: 0n, requests: 0n, resetsAt: BigInt(Date.UTC(2026, 1, 1)) },
    };
    expect(await put(accountId, fields)).toMatchObject(stored);
    ledger.clock.set(THURSDAY + 1);
    expect(await put(accountId, fields)).toMatchObject(stored);
    expect((await list(accountId)).budgets[1]).toMatchObject(stored);
  });

  test("that must be new is created once, and never changed by a repeat", async () => {
    const accountId = await wallet.openAccount(ledger.inProcess, 0n);
    const fields = { budgetId: randomUUID(), level: CUSTOMER, name: "b", limit: limitOf(5n), onlyNew: true };
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => put(accountId, fields)));
    for (const other of [...others, await put(accountId, fields)]) expect(other).toEqual(first);
    const key = await wallet.putSpender(ledger.inProcess, accountId);
    for (const wrong of [
      { ...fields, name: "c" },
      { ...fields, limit: limitOf(6n) },
      { ...fields, level: MEMBER },
      { ...fields, active: false },
      { ...fields, budgetId: key },
    ]) {
      await expect(put(accountId, wrong)).rejects.toMatchObject({
        ...{ reason: "invalid_value", param: "budget_id" },
      });
    }
    expect((await list(accountId)).budgets[0]).toEqual(first);
  });

  test("that two callers create with other fields at the same time is that of the first", async () => {
    const accountId = await wallet.openAccount(ledger.inProcess, 0n);
    const budgetId = randomUUID();
    const outcomes = await Promise.allSettled(
      ["a", "b", "c"].map((name) => put(accountId, { budgetId, level: CUSTOMER, name, onlyNew: true })),
    );
    const [done] = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(2);
    expect((await list(accountId)).budgets).toEqual([done]);
  });

  test("changes in its named fields only", async () => {
    const accountId = await wallet.openAccount(ledger.inProcess, 0n);
    const { budgetId } = await create(accountId, MEMBER, { limit: limitOf(5n) });
    const change = (fields: PutInit) => put(accountId, { budgetId, ...fields });
    await Promise.all([
      change({ name: "renamed" }),
      change({ limit: limitOf(7n) }),
      change({ active: false }),
    ]);
    expect(await change({})).toMatchObject({
      ...{ level: MEMBER, name: "renamed", limitCredits: 7n, state: BudgetState.CLOSED },
      ...{ period: SpendPeriod.LIFETIME, resetsAt: 0n },
    });
    const expiry = { case: "expiresAt", value: BigInt(THURSDAY) } as const;
    expect(await change({ active: true, expiry })).toMatchObject({ state: BudgetState.EXPIRED });
    const never = { case: "neverExpires", value: true } as const;
    const opened = await change({ expiry: never, limit: { case: "noLimit", value: true } });
    expect(opened.state).toBe(BudgetState.OPEN);
    expect([opened.limitCredits, opened.expiresAt]).toEqual([undefined, undefined]);
  });

  test("is refused with the name of the field at fault", async () => {
    const { accountId, budgetId, key } = await openTree(MEMBER);
    const other = await openTree(MEMBER);
    const refusal = async (asked: Promise<unknown>) =>
      asked.then(
        () => "done",
        ({ reason, param }) => `${reason} ${param}`,
      );
    const answers = await Promise.all([
      refusal(put(accountId, { name: "unknown" })),
      refusal(create(randomUUID(), MEMBER)),
      refusal(put(accountId, { level: CUSTOMER })),
      refusal(create(accountId, MEMBER, { name: "" })),
      refusal(create(accountId, KEY)),
      refusal(put(accountId, { budgetId: key.spenderId, name: "a key" })),
      refusal(put(accountId, { budgetId, level: CUSTOMER })),
      refusal(create(accountId, MEMBER, { parentId: budgetId })),
      refusal(create(accountId, MEMBER, { parentId: randomUUID() })),
      refusal(create(accountId, JOB, { parentId: other.budgetId })),
      refusal(create(accountId, MEMBER, { limit: limitOf(-1n) })),
      refusal(create(accountId, MEMBER, { limit: { case: "noLimit", value: false } })),
      refusal(create(accountId, MEMBER, { expiry: { case: "expiresAt", value: 0n } })),
      refusal(list(accountId, { after: randomUUID() })),
      refusal(list(randomUUID())),
      refusal(list(accountId, { limit: 1_001 })),
      refusal(wallet.putSpender(ledger.inProcess, accountId, { parentId: randomUUID() })),
      refusal(wallet.putSpender(ledger.inProcess, accountId, { parentId: key.spenderId })),
      refusal(wallet.putSpender(ledger.inProcess, accountId, { parentId: "x" })),
    ]);
    expect(answers).toEqual([
      "budget_not_found budget_id",
      "account_not_found account_id",
      "invalid_value name",
      "invalid_value name",
      "invalid_value level",
      "invalid_value budget_id",
      "invalid_value level",
      ...Array.from({ length: 3 }, () => "invalid_value parent_id"),
      "invalid_value limit_credits",
      "invalid_value no_limit",
      "invalid_value expires_at",
      "invalid_value after",
      "account_not_found account_id",
      "invalid_value limit",
      ...Array.from({ length: 3 }, () => "invalid_value spender.parent_id"),
    ]);
    expect((await list(accountId)).ids).toEqual([budgetId, key.spenderId]);
  });
});

describe("the list of budgets", () => {
  test("has pages in the order of creation, and filters by level and by id", async () => {
    const { accountId, budgetId, key } = await openTree(ACCOUNT);
    const customers: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      customers.push((await create(accountId, CUSTOMER, { parentId: budgetId })).budgetId);
    }
    const all = [budgetId, key.spenderId, ...customers];
    expect(await list(accountId)).toMatchObject({ ids: all, hasMore: false });
    expect(await list(accountId, { limit: 3 })).toMatchObject({ ids: all.slice(0, 3), hasMore: true });
    expect(await list(accountId, { limit: 4, after: all[2] })).toMatchObject({
      ids: all.slice(3),
      hasMore: false,
    });
    const levels = [CUSTOMER];
    expect(await list(accountId, { levels, limit: 2 })).toMatchObject({
      ids: customers.slice(0, 2),
      hasMore: true,
    });
    expect(await list(accountId, { levels, limit: 5, after: budgetId })).toMatchObject({ hasMore: false });
    const budgetIds = [customers[3] ?? "", randomUUID(), key.spenderId];
    expect((await list(accountId, { budgetIds })).ids).toEqual([key.spenderId, customers[3]]);
  });

  test("shows the use of the current window, and that of the whole life", async () => {
    const { accountId, budgetId, key } = await openTree(CUSTOMER, {
      limit: limitOf(50n),
      period: SpendPeriod.DAY,
    });
    const first = await place(key, 20n);
    await wallet.postOne(ledger.inProcess, wallet.capture(first.id, 15n));
    await place(key, 10n);
    const use = async () => (await list(accountId, { budgetIds: [budgetId] })).budgets[0];
    const lifetime = { lifetimeUsedCredits: 15n, requests: 1n };
    expect(await use()).toMatchObject({
      ...{ usedCredits: 15n, heldCredits: 10n, resetsAt: BigInt(MIDNIGHT), ...lifetime },
    });
    ledger.clock.set(MIDNIGHT);
    const next = { usedCredits: 0n, heldCredits: 0n, resetsAt: BigInt(MIDNIGHT + 24 * HOUR) };
    expect(await use()).toMatchObject({ ...next, ...lifetime });
  });
});

describe.each([
  ["account", ACCOUNT],
  ["member", MEMBER],
  ["customer", CUSTOMER],
] as const)("a budget of the level %s above a key", (_name, level) => {
  const checks = async (key: wallet.Wallet, credits: bigint) => {
    const claimed = await wallet.postOne(ledger.inProcess, wallet.claiming(key, credits, "a key"));
    const checked = await ledger.inProcess.checkSpender({ ...key, credits });
    return [claimed, checked.outcome];
  };

  test("refuses a place, an extension and a dry run with its level and reset time, without its amount", async () => {
    const { key } = await openTree(level, { limit: limitOf(50n), period: SpendPeriod.DAY });
    const open = await place(key, 40n);
    const refusal = {
      ...{ code: SPEND_LIMIT_EXCEEDED, budgetLevel: level, capCredits: 0n, inFlight: false },
      ...{ resetsAt: BigInt(MIDNIGHT), period: SpendPeriod.DAY },
    };
    expect(await place(key, 51n)).toMatchObject(refusal);
    for (const outcome of await checks(key, 51n)) expect(outcome).toMatchObject(refusal);
    expect(await wallet.postOne(ledger.inProcess, wallet.extend(open.id, 51n))).toMatchObject(refusal);
    expect(await place(key, 11n)).toMatchObject({ ...refusal, inFlight: true });
    await wallet.postOne(ledger.inProcess, wallet.capture(open.id, 40n));
    expect(await place(key, 10n)).toMatchObject({ code: DONE });
  });

  test("keeps the amount of the key's own limit in the refusal of the key", async () => {
    const { accountId, budgetId } = await openTree(level, { limit: limitOf(50n) });
    const spender = { parentId: budgetId, capCredits: 5n };
    const key = { accountId, spenderId: await wallet.putSpender(ledger.inProcess, accountId, spender) };
    expect(await place(key, 6n)).toMatchObject({
      ...{ code: SPEND_LIMIT_EXCEEDED, capCredits: 5n, budgetLevel: BudgetLevel.UNSPECIFIED },
    });
  });

  test("ends while holds are open: it admits nothing more, and each open hold ends as usual", async () => {
    const expiresAt = BigInt(THURSDAY + HOUR);
    const { accountId, budgetId, key } = await openTree(level, {
      limit: limitOf(50n),
      expiry: { case: "expiresAt", value: expiresAt },
    });
    const [one, two] = [await place(key, 10n), await place(key, 10n)];
    ledger.clock.set(Number(expiresAt));
    const expired = { code: BUDGET_CLOSED, budgetLevel: level, expiresAt, capCredits: 0n };
    expect(await place(key, 0n)).toMatchObject(expired);
    for (const outcome of await checks(key, 1n)) expect(outcome).toMatchObject(expired);
    expect(await wallet.postOne(ledger.inProcess, wallet.extend(one.id, 11n))).toMatchObject(expired);
    expect(await wallet.postOne(ledger.inProcess, wallet.capture(one.id, 9n))).toMatchObject({ code: DONE });
    const never = { case: "neverExpires", value: true } as const;
    await put(accountId, { budgetId, expiry: never, active: false });
    expect(await place(key, 1n)).toMatchObject({ code: BUDGET_CLOSED, expiresAt: 0n });
    expect(await wallet.postOne(ledger.inProcess, wallet.release(two.id))).toMatchObject({ code: DONE });
    expect(await put(accountId, { budgetId, active: true })).toMatchObject({
      usedCredits: 9n,
      heldCredits: 0n,
    });
    expect(await place(key, 1n)).toMatchObject({ code: DONE });
  });

  test("begins at zero with a new period, and each open hold counts in the window of its admission", async () => {
    const { accountId, budgetId, key } = await openTree(level, {
      limit: limitOf(20n),
      period: SpendPeriod.DAY,
    });
    const old = await place(key, 20n);
    expect(await put(accountId, { budgetId, period: SpendPeriod.WEEK })).toMatchObject({ heldCredits: 0n });
    const young = await place(key, 20n);
    expect(young.code).toBe(DONE);
    await wallet.postOne(ledger.inProcess, wallet.capture(old.id, 20n));
    const [budget] = (await list(accountId, { budgetIds: [budgetId] })).budgets;
    expect(budget).toMatchObject({ usedCredits: 0n, heldCredits: 20n, lifetimeUsedCredits: 20n });
    await wallet.postOne(ledger.inProcess, wallet.release(young.id));
  });

  test("can be put above a key later, once, and open holds of the key keep their chain", async () => {
    const { accountId, budgetId } = await openTree(level, { limit: limitOf(20n) });
    const { budgetId: other } = await create(accountId, level);
    const spender = { spenderId: randomUUID(), revision: 1n };
    const key = { accountId, spenderId: await wallet.putSpender(ledger.inProcess, accountId, spender) };
    const before = await place(key, 100n);
    const putParent = (parentId: string) =>
      wallet.putSpender(ledger.inProcess, accountId, { ...spender, parentId });
    await putParent(budgetId);
    await putParent(budgetId);
    await expect(putParent(other)).rejects.toMatchObject({ param: "spender.parent_id" });
    await putParent("");
    const { usage } = await ledger.inProcess.getCredits({ accountId, bySpender: true, ...spender });
    expect(usage[0]?.spender?.parentId).toBe(budgetId);
    expect(await place(key, 21n)).toMatchObject({ code: SPEND_LIMIT_EXCEEDED, budgetLevel: level });
    expect(await wallet.postOne(ledger.inProcess, wallet.extend(before.id, 110n))).toMatchObject({
      code: DONE,
    });
    await wallet.postOne(ledger.inProcess, wallet.capture(before.id, 110n));
    expect(await place(key, 20n)).toMatchObject({ code: DONE });
    const [budget] = (await list(accountId, { budgetIds: [budgetId] })).budgets;
    expect(budget).toMatchObject({ usedCredits: 0n, heldCredits: 20n });
  });
});

test("web tokens of a member count in the member's budget, and those of others do not", async () => {
  const { accountId, budgetId: personId } = await openTree(MEMBER, { limit: limitOf(50n) });
  const tokens = { accountId, spenderId: accountId };
  await wallet.putSpender(ledger.inProcess, accountId, { spenderId: accountId, revision: 1n });
  const first = await place(tokens, 50n, { personId: personId.toUpperCase() });
  expect(first.code).toBe(DONE);
  const refusal = { code: SPEND_LIMIT_EXCEEDED, budgetLevel: MEMBER, inFlight: true };
  expect(await place(tokens, 1n, { personId })).toMatchObject(refusal);
  for (const person of ["", randomUUID(), "no uuid"]) {
    expect(await place(tokens, 60n, { personId: person })).toMatchObject({ code: DONE });
  }
  const check = (person: string) =>
    ledger.inProcess.checkSpender({ ...tokens, personId: person, credits: 51n });
  expect((await check(personId)).outcome).toMatchObject({ ...refusal, inFlight: false });
  expect((await check("")).outcome).toMatchObject({ code: DONE });
  await wallet.postOne(ledger.inProcess, wallet.capture(first.id, 40n));
  const [budget] = (await list(accountId, { budgetIds: [personId] })).budgets;
  expect(budget).toMatchObject({ usedCredits: 40n, heldCredits: 0n });
  const claimed = wallet.claiming(tokens, 10n, "of the member", { personId });
  await wallet.postOne(ledger.inProcess, claimed);
  await wallet.postOne(ledger.inProcess, wallet.capture(claimed.holdId, 10n));
  const claim = wallet.claimOf("of the member");
  const judged = await ledger.inProcess.judgeClaim({ ...tokens, personId, claim });
  expect(judged.outcome).toMatchObject({ code: OutcomeCode.CLAIM_FINISHED, earlierHoldId: claimed.holdId });
});

test("four levels are read back by another process: each counts the hold of the lowest", async () => {
  const accountId = await wallet.openAccount(ledger.inProcess, 100n);
  const whole = await create(accountId, ACCOUNT, { limit: limitOf(50n) });
  const member = await create(accountId, MEMBER, { parentId: whole.budgetId });
  const spenderId = await wallet.putSpender(ledger.inProcess, accountId, { parentId: member.budgetId });
  const job = await create(accountId, JOB, { parentId: spenderId });
  const hold = await place({ accountId, spenderId: job.budgetId }, 30n);
  await wallet.postOne(ledger.inProcess, wallet.capture(hold.id, 25n));
  expect(await place({ accountId, spenderId: job.budgetId }, 26n)).toMatchObject({ budgetLevel: ACCOUNT });
  const { budgets } = await list(accountId);
  expect(budgets.map(({ usedCredits, requests }) => [usedCredits, requests])).toEqual(
    Array.from({ length: 4 }, () => [25n, 1n]),
  );
});
