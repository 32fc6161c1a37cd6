// Guarantees of the budget commands on real books: one budget for each customer, many keys below it.
import { randomUUID } from "node:crypto";
import { billingModule } from "@gr/billing";
import { BillingService, BudgetLevel, OutcomeCode } from "@gr/proto/billing";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type RouterUnderTest, SECRET, startRouter } from "../test/start-router.ts";

const HOUR = 3_600_000;
let router: RouterUnderTest;
let account: string;

beforeAll(async () => {
  router = await startRouter({ billing: billingModule });
  account = (await router.json("account", "create", "--name", "Acme", "--usd", "10")).account_id;
});
afterAll(() => router?.stop());

const ofAccount = (noun: string, verb: string, ...more: string[]) =>
  router.json(noun, verb, "--account", account, ...more);
const listed = async (...more: string[]) => (await ofAccount("budget", "list", ...more)).budgets;

async function failureOf(...args: string[]): Promise<string> {
  const { code, out, err } = await router.cli(
    args[0] ?? "",
    args[1] ?? "",
    "--account",
    account,
    ...args.slice(2),
  );
  expect([code === 0, out]).toEqual([false, ""]);
  return err;
}

async function place(spenderId: string, credits: bigint) {
  const transport = createRemoteTransport(router.rpcUrl, SECRET, systemClock);
  const deadlineAt = BigInt(Date.now() + HOUR);
  const value = {
    ...{ holdId: randomUUID(), accountId: account, spenderId, credits, deadlineAt },
    ...{ service: "text-proxy", provider: "openrouter", model: "sandbox/chat", priceVersion: "v1" },
  };
  const operations = [{ operation: { case: "place", value } as const }];
  return (await createServiceClient(BillingService, "billing", transport).post({ operations })).outcomes[0];
}

test("a budget is created with its fields, changed in the named ones, and listed as it is", async () => {
  const whole = await ofAccount("budget", "create", "--name", "All", "--level", "account");
  const id = randomUUID();
  const creating = [
    "--name",
    "Customer 1",
    "--parent",
    whole.id,
    "--limit",
    "1.5",
    "--period",
    "month",
    "--id",
    id,
  ];
  let expected = await ofAccount("budget", "create", ...creating);
  expect(expected).toMatchObject({
    ...{ id, parent_id: whole.id, level: "customer", name: "Customer 1", state: "open", limit: "1.5000" },
    ...{ period: "month", used: "0.0000", held: "0.0000", lifetime_used: "0.0000", requests: 0 },
    ...{ resets_at: expect.stringMatching(/-01T00:00:00\.000Z$/), expires_at: null },
  });
  expect(await ofAccount("budget", "create", ...creating)).toEqual(expected);
  const steps: [string[], object][] = [
    [["--name", "renamed"], { name: "renamed" }],
    [["--limit", "7.25"], { limit: "7.2500" }],
    [["--period", "lifetime"], { period: null, resets_at: null }],
    [["--expires-at", "2199-01-31"], { expires_at: "2199-01-31T00:00:00.000Z" }],
    [["--never-expires", "--close"], { expires_at: null, state: "closed" }],
    [["--open", "--no-limit"], { state: "open", limit: null }],
  ];
  for (const [change, effect] of steps) {
    expected = { ...expected, ...effect };
    expect(await ofAccount("budget", "set", "--id", id, ...change)).toEqual(expected);
  }
  expect(await listed()).toEqual([whole, expected]);
  expect(await listed("--level", "account")).toEqual([whole]);
  const { out } = await router.cli("budget", "list", "--account", account);
  expect(out).toMatch(new RegExp(`^ID +NAME +LEVEL.*\\n${whole.id} +All +account +open.*\\n${id} +renamed`));
});

test("keys share the limit of the budget that they were minted below", async () => {
  const { id } = await ofAccount("budget", "create", "--name", "Customer 2", "--limit", "0.01");
  const mint = () => ofAccount("key", "mint", "--name", "k", "--budget", id);
  const [one, two] = [await mint(), await mint()];
  expect([one.budget_id, two.budget_id]).toEqual([id, id]);
  expect(await place(one.id, 60n)).toMatchObject({ code: OutcomeCode.DONE });
  expect(await place(two.id, 41n)).toMatchObject({
    ...{ code: OutcomeCode.SPEND_LIMIT_EXCEEDED, budgetLevel: BudgetLevel.CUSTOMER },
  });
  expect((await listed()).at(-1)).toMatchObject({ id, held: "0.0060" });
  await ofAccount("budget", "set", "--id", id, "--limit", "0.0101");
  expect(await place(two.id, 41n)).toMatchObject({ code: OutcomeCode.DONE });
  await ofAccount("budget", "set", "--id", id, "--close");
  expect(await place(one.id, 0n)).toMatchObject({ code: OutcomeCode.BUDGET_CLOSED });
});

test("a key without a budget gets one once", async () => {
  const { id } = await ofAccount("budget", "create", "--name", "Customer 3");
  const { id: other } = await ofAccount("budget", "create", "--name", "Customer 4");
  const key = await ofAccount("key", "mint", "--name", "k");
  expect(key.budget_id).toBeNull();
  const updated = await ofAccount("key", "update", "--id", key.id, "--budget", id);
  expect(updated.budget_id).toBe(id);
  expect(await failureOf("key", "update", "--id", key.id, "--budget", other)).toMatch(/never changes/);
});

test("a mistake is named, and nothing is stored", async () => {
  const before = await listed();
  expect(await failureOf("budget", "set", "--id", randomUUID(), "--close")).toMatch(/no budget with this id/);
  expect(await failureOf("budget", "set", "--id", before[0].id)).toMatch(/^Name a change/);
  expect(await failureOf("budget", "create", "--name", "x", "--level", "key")).toMatch(
    /one of: account, member/,
  );
  expect(await failureOf("budget", "create", "--name", "x", "--parent", randomUUID())).toMatch(/parent_id/);
  expect(await failureOf("budget", "create", "--name", "x", "--limit", "-1")).toMatch(
    /at most four decimals/,
  );
  expect(await failureOf("key", "mint", "--name", "k", "--budget", randomUUID())).toMatch(/budget_id/);
  expect(await listed()).toEqual(before);
});
