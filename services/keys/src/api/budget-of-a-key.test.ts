// Guarantees of the budget above a key, over REST and RPC with a real PostgreSQL. Billing stores it before the key exists.
// Each answer about the key has it, and it never changes.
import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { BudgetLevel } from "@gr/proto/billing";
import { KeyKind, type MintKeyRequestSchema } from "@gr/proto/keys";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { refusal } from "../test/refusal.ts";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

let world: KeysUnderTest;
let accountId: string;
let budgetId: string;
beforeAll(async () => {
  world = await startKeys();
});
afterAll(() => world?.stop());
beforeEach(async () => {
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
  budgetId = newBudget(BudgetLevel.CUSTOMER);
  world.billing.spenders.length = 0;
});

function newBudget(level: BudgetLevel, of = accountId): string {
  const id = randomUUID();
  world.billing.putBudget({ accountId: of, budgetId: id, level, name: "a budget" });
  return id;
}

const manager = () => ({ accountId, keyId: accountId, kind: "management" }) as const;
const post = (body: object) => world.rest("POST", "/v1/api-keys", manager(), { name: "a key", ...body });
const mint = (fields: Omit<MessageInitShape<typeof MintKeyRequestSchema>, "$typeName"> = {}) =>
  world.keys.mintKey({ accountId, name: "a key", kind: KeyKind.NORMAL, ...fields });
const update = (keyId: string, budget: string) =>
  world.keys.updateKey({ accountId, keyId, budgetId: budget });
const parents = () => world.billing.spenders.map(({ parentId }) => parentId);

async function mintedId(fields: { budgetId?: string; kind?: KeyKind } = {}): Promise<string> {
  const { key } = await mint(fields);
  return key?.keyId ?? "";
}

describe("a new key", () => {
  test("is below the budget in billing before its secret is answered", async () => {
    const { status, body } = await post({ budget_id: budgetId.toUpperCase() });
    expect([status, body.budget_id]).toEqual([201, budgetId]);
    expect(parents()).toEqual([budgetId]);
    const { key: _, ...record } = body;
    expect((await world.rest("GET", "/v1/api-keys", manager())).body.data).toEqual([record]);
    const { key } = await world.keys.verifyKey({ secret: body.key });
    expect(key?.budgetId).toBe(budgetId);
  });

  test.each([{}, { budget_id: null }])("without a budget has no such field: %j", async (body) => {
    const answer = await post(body);
    expect([answer.status, "budget_id" in answer.body, parents()]).toEqual([201, false, [""]]);
  });

  test.each([7, "", "none", []])("is refused with the budget %j", async (budget_id) => {
    const { status, body } = await post({ budget_id });
    expect([status, body.error.param, parents()]).toEqual([400, "budget_id", []]);
  });

  test("is not stored if no key can be below the budget", async () => {
    const other = (await world.keys.createAccount({ name: "Other" })).accountId;
    const wrong = [
      randomUUID(),
      newBudget(BudgetLevel.CUSTOMER, other),
      newBudget(BudgetLevel.JOB),
      await mintedId(),
    ];
    for (const budget of wrong) {
      const { status, body } = await post({ budget_id: budget });
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "budget_id"]);
    }
    expect((await world.keys.listKeys({ accountId })).keys).toHaveLength(1);
  });

  test("that manages keys has no budget", async () => {
    const { reason, param } = await refusal(mint({ kind: KeyKind.MANAGEMENT, budgetId }));
    expect([reason, param]).toEqual(["invalid_value", "budget_id"]);
  });
});

describe("a key without a budget", () => {
  test("gets one once, and other changes keep it", async () => {
    const keyId = await mintedId();
    expect((await update(keyId, budgetId)).key?.budgetId).toBe(budgetId);
    expect((await update(keyId, budgetId)).key?.budgetId).toBe(budgetId);
    expect((await world.keys.updateKey({ accountId, keyId, name: "renamed" })).key?.budgetId).toBe(budgetId);
    expect((await world.keys.rotateKey({ accountId, keyId, overlapMs: 0n })).key?.budgetId).toBe(budgetId);
    expect(parents()).toEqual(["", budgetId, budgetId, budgetId]);
    const another = newBudget(BudgetLevel.MEMBER);
    expect((await refusal(update(keyId, another))).param).toBe("budget_id");
    expect((await world.keys.getKey({ accountId, keyId })).key?.budgetId).toBe(budgetId);
  });

  test("keeps none if billing has no such budget", async () => {
    const keyId = await mintedId();
    expect((await refusal(update(keyId, randomUUID()))).param).toBe("budget_id");
    expect((await refusal(update(keyId, "x"))).param).toBe("budget_id");
    expect((await world.keys.getKey({ accountId, keyId })).key?.budgetId).toBe("");
    expect((await update(keyId, budgetId)).key?.budgetId).toBe(budgetId);
  });

  test("that manages keys gets none", async () => {
    const keyId = await mintedId({ kind: KeyKind.MANAGEMENT });
    expect((await refusal(update(keyId, budgetId))).param).toBe("budget_id");
  });
});
