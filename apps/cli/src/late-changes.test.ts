// Guarantees of key changes with a late call to billing or a lost answer, with the real keys and billing: the
// operator's message is true, and a revoked key never spends again.
import { randomUUID } from "node:crypto";
import { BillingService, OutcomeCode, type Spender, SpendPeriod } from "@gr/proto/billing";
import { type Key, KeysService } from "@gr/proto/keys";
import {
  connectPostgres,
  createLogger,
  createRemoteTransport,
  createServiceClient,
  type ServiceClient,
  systemClock,
} from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Fate, LateBilling } from "./test/late-billing.ts";
import { PATIENCE_MS, type RouterUnderTest, SECRET, startRouter } from "./test/start-router.ts";

const HOUR = 3_600_000;
const line = new LateBilling();
let router: RouterUnderTest;
let billing: ServiceClient<typeof BillingService>;
let keys: ServiceClient<typeof KeysService>;
let account: string;

beforeAll(async () => {
  router = await startRouter({ billing: line.module });
  const transport = createRemoteTransport(router.rpcUrl, SECRET, systemClock);
  billing = createServiceClient(BillingService, "billing", transport, PATIENCE_MS);
  keys = createServiceClient(KeysService, "keys", transport, PATIENCE_MS);
  account = (await router.json("account", "create", "--name", "Acme")).account_id;
  await router.json("deposit", "add", "--account", account, "--usd", "100");
});
afterAll(async () => {
  await router?.stop();
});
beforeEach(() => {
  line.fate = "answered";
});

const mint = (...more: string[]) => router.json("key", "mint", "--account", account, "--name", "CI", ...more);
const ofKey = (verb: string, id: string, ...more: string[]) =>
  ["key", verb, "--account", account, "--id", id, ...more] as const;

async function withFate(fate: Fate, ...args: readonly string[]): Promise<void> {
  line.fate = fate;
  expect(await router.cli(...args)).toMatchObject({ code: 1, err: expect.stringMatching(/did not answer/) });
  line.fate = "answered";
}

async function deliverAll(): Promise<void> {
  while (line.late > 0) await line.deliver();
}

async function spenderOf(keyId: string): Promise<Spender | undefined> {
  const { usage } = await billing.getCredits({ accountId: account, bySpender: true });
  return usage.find(({ spender }) => spender?.spenderId === keyId)?.spender;
}

async function spend(keyId: string, credits: bigint): Promise<OutcomeCode | undefined> {
  const value = {
    ...{
      holdId: randomUUID(),
      accountId: account,
      spenderId: keyId,
      credits,
      deadlineAt: BigInt(Date.now() + HOUR),
    },
    ...{ service: "text-proxy", provider: "openrouter", model: "sandbox/chat", priceVersion: "v1" },
  };
  const { outcomes } = await billing.post({ operations: [{ operation: { case: "place", value } }] });
  return outcomes[0]?.code;
}

describe("a key that was revoked never spends again", () => {
  test("when an earlier change of it, given up, arrives after the deletion", async () => {
    const { id } = await mint();
    await router.json(...ofKey("update", id, "--disable"));
    await withFate("late", ...ofKey("update", id, "--name", "renamed"));
    await withFate("late", ...ofKey("update", id, "--enable"));
    await router.json(...ofKey("revoke", id));
    expect(line.late).toBe(2);
    await deliverAll();
    expect(await spend(id, 1n)).toBe(OutcomeCode.SPENDER_INACTIVE);
    expect((await spenderOf(id))?.active).toBe(false);
  });

  test("when the first deletion went unanswered and a change of before arrives between it and the second", async () => {
    const { id } = await mint();
    await withFate("late", ...ofKey("update", id, "--spend-limit", "9"));
    await withFate("unheard", ...ofKey("revoke", id));
    await deliverAll();
    expect(await spend(id, 1n)).toBe(OutcomeCode.SPENDER_INACTIVE);
    await router.json(...ofKey("revoke", id));
    expect(await spend(id, 1n)).toBe(OutcomeCode.SPENDER_INACTIVE);
  });
});

test("a limit that was lowered stays lowered when an earlier, higher one arrives", async () => {
  const { id } = await mint("--spend-limit", "5");
  expect(await spend(id, 300n)).toBe(OutcomeCode.DONE);
  await withFate("late", ...ofKey("update", id, "--spend-limit", "50", "--period", "month"));
  await router.json(...ofKey("update", id, "--spend-limit", "0.04"));
  await deliverAll();
  expect(await spenderOf(id)).toMatchObject({ capCredits: 400n, period: SpendPeriod.LIFETIME });
  expect(await spend(id, 101n)).toBe(OutcomeCode.SPEND_LIMIT_EXCEEDED);
  expect(await spend(id, 100n)).toBe(OutcomeCode.DONE);
});

describe("after the tables of the keys were restored to an older state than billing's", () => {
  /** The key as it was minted. */
  const restore = async (id: string) => {
    const log = createLogger("silent", "test");
    const db = await connectPostgres({ url: router.databaseUrl, poolSize: 1, schema: "keys", log });
    await db.query("UPDATE api_key SET revision = 1, name = 'CI' WHERE id = $1", [id]);
    await db.end();
  };

  test("a key that is deleted spends nothing from then on", async () => {
    const { id } = await mint();
    for (const name of ["b", "c", "d"]) await router.json(...ofKey("update", id, "--name", name));
    await restore(id);
    await router.json(...ofKey("revoke", id));
    expect(await spend(id, 1n)).toBe(OutcomeCode.SPENDER_INACTIVE);
  });

  test("a change holds, and so does the next one", async () => {
    const { id } = await mint("--spend-limit", "5");
    for (const name of ["b", "c", "d"]) await router.json(...ofKey("update", id, "--name", name));
    await restore(id);
    await router.json(...ofKey("update", id, "--spend-limit", "0.01"));
    expect(await spend(id, 101n)).toBe(OutcomeCode.SPEND_LIMIT_EXCEEDED);
    expect(await spenderOf(id)).toMatchObject({ name: "CI", capCredits: 100n, revision: 5n });
    await router.json(...ofKey("update", id, "--disable"));
    expect(await spenderOf(id)).toMatchObject({ active: false, revision: 6n });
  });
});

interface Step {
  readonly fate: Fate;
  readonly name: string;
  readonly active: boolean;
  readonly cap: bigint;
  readonly period: SpendPeriod;
  /** One of the late calls arrives before this step. */
  readonly delivered: number | null;
}

const step: fc.Arbitrary<Step> = fc.record({
  fate: fc.constantFrom<Fate>("answered", "unheard", "late"),
  name: fc.constantFrom("n1", "n2"),
  active: fc.boolean(),
  cap: fc.bigInt({ min: 0n, max: 9n }),
  period: fc.constantFrom(SpendPeriod.DAY, SpendPeriod.WEEK, SpendPeriod.LIFETIME),
  delivered: fc.option(fc.nat()),
});

const judged = (of: Key | Spender | undefined) => [
  of?.name,
  of?.active,
  of?.capCredits,
  of?.period,
  of?.expiresAt,
];

test("after an answered change billing judges the key as it was changed, whatever arrives in whatever order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 8 }),
      step,
      fc.boolean(),
      fc.infiniteStream(fc.nat()),
      async (steps, last, deleting, order) => {
        const { id: keyId } = await mint();
        for (const { fate, delivered, cap, ...change } of steps) {
          if (delivered !== null) await line.deliver(delivered);
          line.fate = fate;
          const request = { accountId: account, keyId, ...change };
          const changing = keys.updateKey({ ...request, cap: { case: "capCredits", value: cap } });
          if (fate === "answered") await changing;
          else await expect(changing).rejects.toMatchObject({ reason: "service_unavailable" });
        }
        line.fate = "answered";
        const cap = { case: "capCredits" as const, value: last.cap };
        const { key } = await keys.updateKey({ ...last, accountId: account, keyId, cap });
        if (deleting) await keys.deleteKey({ accountId: account, keyId });
        while (line.late > 0) await line.deliver(order.next().value ?? 0);
        const expected = deleting && key !== undefined ? { ...key, active: false } : key;
        expect(judged(await spenderOf(keyId))).toEqual(judged(expected));
      },
    ),
    { numRuns: 25 },
  );
});
