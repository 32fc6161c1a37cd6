// Malformed requests: refused with the name of the field, and nothing is written, not even for their neighbours.
import { randomUUID } from "node:crypto";
import { DepositStatus, type HoldState, OutcomeCode, ReleaseReason, SpendPeriod } from "@gr/proto/billing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import {
  capture,
  claiming,
  claimOf,
  extend,
  nextAttempt,
  type OperationInit,
  openWallet,
  place,
  post,
  postOne,
  putSpender,
  release,
  type Wallet,
} from "../test/wallet.ts";

const TOO_MUCH = 10n ** 15n + 1n;

let ledger: BillingUnderTest;
let mine: Wallet;
beforeAll(async () => {
  ledger = await startBilling();
  mine = await openWallet(ledger.billing, 1_000_000n);
});
afterAll(() => ledger.stop());

const refusal = (param: string) => ({
  reason: "invalid_value",
  param,
  message: expect.stringContaining(`"${param}"`),
});

async function rowCounts() {
  const { rows } = await ledger.db.query(
    `SELECT (SELECT count(*) FROM step) AS steps, (SELECT count(*) FROM claim) AS claims,
            (SELECT count(*) FROM kept_answer) AS answers, (SELECT count(*) FROM deposit_report) AS reports`,
  );
  return rows;
}

describe("Post", () => {
  const id = randomUUID();
  const placeWith = (fields: object): OperationInit => {
    const { operation } = place({ accountId: id, spenderId: id }, 1n);
    if (operation?.case !== "place") throw new Error("not a place");
    return { operation: { case: "place", value: { ...operation.value, ...fields } } };
  };

  const nextWith = (fields: object): OperationInit => {
    const { operation } = nextAttempt(id, 2);
    if (operation?.case !== "nextAttempt") throw new Error("not a next attempt");
    return { operation: { case: "nextAttempt", value: { ...operation.value, ...fields } } };
  };

  test.each<[string, OperationInit]>([
    ["", {}],
    [".place.hold_id", placeWith({ holdId: "" })],
    [".place.hold_id", placeWith({ holdId: "not-a-uuid" })],
    [".place.hold_id", placeWith({ holdId: `${id}\n` })],
    [".place.hold_id", placeWith({ holdId: id.replaceAll("-", "") })],
    [".place.account_id", placeWith({ accountId: "0" })],
    [".place.spender_id", placeWith({ spenderId: `{${id}}` })],
    [".place.credits", placeWith({ credits: -1n })],
    [".place.credits", placeWith({ credits: TOO_MUCH })],
    [".place.credits", placeWith({ credits: 2n ** 63n - 1n })],
    [".place.most_credits", placeWith({ mostCredits: 0n })],
    [".place.most_credits", placeWith({ mostCredits: TOO_MUCH })],
    [".place.service", placeWith({ service: "" })],
    [".place.provider", placeWith({ provider: "" })],
    [".place.model", placeWith({ model: "a\0b" })],
    [".place.model", placeWith({ model: "m".repeat(201) })],
    [".place.upstream_model", placeWith({ upstreamModel: "m".repeat(201) })],
    [".place.price_version", placeWith({ priceVersion: "" })],
    [".place.deadline_at", placeWith({ deadlineAt: 0n })],
    [".place.deadline_at", placeWith({ deadlineAt: 2n ** 62n })],
    [".place.claim.key", placeWith({ claim: {} })],
    [".place.claim.key", placeWith({ claim: { ...claimOf("k"), key: Buffer.alloc(31) } })],
    [".place.claim.key", placeWith({ claim: { ...claimOf("k"), key: Buffer.alloc(33) } })],
    [".place.claim.fingerprint", placeWith({ claim: { key: claimOf("k").key } })],
    [".place.claim.fingerprint", placeWith({ claim: { ...claimOf("k"), fingerprint: Buffer.alloc(64) } })],
    [".capture.hold_id", capture("x", 1n)],
    [".capture.credits", capture(id, -1n, 0n)],
    [".capture.credits", capture(id, TOO_MUCH, 0n)],
    [".capture.cost_pico_usd", capture(id, 1n, -1n)],
    [".release.hold_id", release("x")],
    [".release.cost_pico_usd", release(id, -1n)],
    [".release.reason", release(id, 0n, ReleaseReason.UNSPECIFIED)],
    [".extend.hold_id", extend("x", 1n)],
    [".extend.credits", extend(id, -1n)],
    [".extend.most_credits", extend(id, 2n, undefined, 1n)],
    [".extend.deadline_at", extend(id, 1n, -1n)],
    [".next_attempt.hold_id", nextAttempt("x", 2)],
    [".next_attempt.attempt", nextAttempt(id, 1)],
    [".next_attempt.attempt", nextAttempt(id, 101)],
    [".next_attempt.cost_pico_usd", nextAttempt(id, 2, -1n)],
    [".next_attempt.deadline_at", nextAttempt(id, 2, 0n, 0n)],
    [".next_attempt.provider", nextWith({ provider: "" })],
    [".next_attempt.upstream_model", nextWith({ upstreamModel: "" })],
    [".next_attempt.billed_by", nextWith({ billedBy: "\0" })],
  ])("names operations[1]%s", async (path, broken) => {
    const before = await rowCounts();
    const call = post(ledger.billing, place(mine, 1n), broken);
    await expect(call).rejects.toMatchObject(refusal(`operations[1]${path}`));
    expect(await rowCounts()).toEqual(before);
  });

  test("needs operations, and not too many", async () => {
    await expect(post(ledger.billing)).rejects.toMatchObject(refusal("operations"));
    const many = Array.from({ length: 1_001 }, () => place(mine, 1n));
    await expect(post(ledger.billing, ...many)).rejects.toMatchObject(refusal("operations"));
  });

  test("of one caller does not fail the calls that share its commit", async () => {
    const calls = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) =>
        postOne(ledger.billing, index % 3 === 0 ? placeWith({ credits: -1n }) : place(mine, 1n)),
      ),
    );
    calls.forEach((call, index) => {
      if (index % 3 === 0)
        expect(call).toMatchObject({ status: "rejected", reason: { reason: "invalid_value" } });
      else expect(call).toMatchObject({ status: "fulfilled", value: { code: OutcomeCode.DONE } });
    });
  });

  test("takes every character that a name may have", async () => {
    const model = `",{}\\'; DROP TABLE step; -- \n\t NULL 😀 ${"é".repeat(100)}`;
    const { holdId, ...operation } = place(mine, 1n, { model });
    const others = Array.from({ length: 5 }, () => place(mine, 1n, { model: "NULL" }));
    await post(ledger.billing, operation, ...others);
    const { rows } = await ledger.db.query("SELECT model FROM step WHERE id = $1", [holdId]);
    expect(rows).toEqual([{ model }]);
  });

  test("a place that does not say what the model is called at the provider means its own name", async () => {
    const { holdId, ...operation } = place(mine, 1n, { upstreamModel: "" });
    await post(ledger.billing, operation);
    const { rows } = await ledger.db.query("SELECT model, upstream_model FROM step WHERE id = $1", [holdId]);
    expect(rows).toEqual([{ model: "sandbox/chat", upstream_model: "sandbox/chat" }]);
  });

  test("treats a UUID in capitals as the same hold", async () => {
    const { holdId, ...operation } = place(mine, 1n);
    const outcomes = await post(
      ledger.billing,
      operation,
      capture(holdId.toUpperCase(), 1n),
      capture(holdId, 1n),
    );
    expect(outcomes.map(({ code }) => code)).toEqual([OutcomeCode.DONE, OutcomeCode.DONE, OutcomeCode.DONE]);
  });
});

describe("PutSpender", () => {
  test.each([
    ["spender.spender_id", { spenderId: "x" }],
    ["spender.name", { name: "" }],
    ["spender.name", { name: "a\0" }],
    ["spender.name", { name: "n".repeat(201) }],
    ["spender.cap_credits", { capCredits: -1n }],
    ["spender.cap_credits", { capCredits: TOO_MUCH }],
    ["spender.period", { period: SpendPeriod.UNSPECIFIED }],
    ["spender.expires_at", { expiresAt: 0n }],
    ["spender.created_at", { createdAt: 0n }],
    ["spender.revision", { revision: -1n }],
  ])("names %s", async (param, fields) => {
    const before = await rowCounts();
    await expect(putSpender(ledger.billing, mine.accountId, fields)).rejects.toMatchObject(refusal(param));
    expect(await rowCounts()).toEqual(before);
  });

  test("needs a spender of an account", async () => {
    await expect(ledger.billing.putSpender({})).rejects.toMatchObject(refusal("spender"));
    await expect(putSpender(ledger.billing, "x")).rejects.toMatchObject(refusal("spender.account_id"));
  });
});

describe("the other calls", () => {
  const deposit = {
    depositId: randomUUID(),
    credits: 1n,
    status: DepositStatus.COMPLETED,
    source: "test",
  };
  const lease = { service: "text-proxy", limit: 1, leaseMs: 1n };

  test.each<[string, object]>([
    ["deposit_id", { depositId: "x" }],
    ["account_id", { accountId: "x" }],
    ["credits", { credits: 0n }],
    ["credits", { credits: -5n }],
    ["credits", { credits: TOO_MUCH }],
    ["status", { status: DepositStatus.UNSPECIFIED }],
    ["status", { status: 9 as DepositStatus }],
    ["source", { source: "" }],
  ])("PutDeposit names %s", async (param, fields) => {
    const before = await rowCounts();
    const call = ledger.billing.putDeposit({ ...deposit, accountId: mine.accountId, ...fields });
    await expect(call).rejects.toMatchObject(refusal(param));
    expect(await rowCounts()).toEqual(before);
  });

  const adjustment = { adjustmentId: randomUUID(), credits: 1n, reason: "test" };

  test.each<[string, object]>([
    ["adjustment_id", { adjustmentId: "" }],
    ["account_id", { accountId: "x" }],
    ["credits", { credits: 0n }],
    ["credits", { credits: TOO_MUCH }],
    ["credits", { credits: -TOO_MUCH }],
    ["credits", { credits: -(2n ** 63n) }],
    ["reason", { reason: "" }],
    ["reason", { reason: "a\0b" }],
    ["reason", { reason: "r".repeat(201) }],
  ])("PutAdjustment names %s", async (param, fields) => {
    const before = await rowCounts();
    const call = ledger.billing.putAdjustment({ ...adjustment, accountId: mine.accountId, ...fields });
    await expect(call).rejects.toMatchObject(refusal(param));
    expect(await rowCounts()).toEqual(before);
  });

  test.each<[string, object]>([
    ["hold_id", { holdId: "x" }],
    ["credits", { credits: -1n }],
    ["credits", { credits: TOO_MUCH }],
    ["cost_pico_usd", { costPicoUsd: -1n }],
    ["content_type", { contentType: "" }],
    ["content_type", { contentType: "c".repeat(201) }],
    ["body", { body: Buffer.alloc(8 * 1024 * 1024 + 1) }],
  ])("KeepAnswer names %s", async (param, fields) => {
    const { holdId, ...operation } = claiming(mine, 1n, randomUUID());
    await postOne(ledger.billing, operation);
    const answer = {
      holdId,
      credits: 1n,
      costPicoUsd: 1n,
      contentType: "text/plain",
      body: Buffer.from("a"),
    };
    const call = ledger.billing.keepAnswer({ ...answer, ...fields });
    await expect(call).rejects.toMatchObject(refusal(param));
    expect(await ledger.billing.readAnswer({ accountId: mine.accountId, holdId })).not.toHaveProperty(
      "answer",
    );
  });

  test.each([
    ["account_id", { accountId: "", holdId: randomUUID() }],
    ["hold_id", { accountId: randomUUID(), holdId: "x" }],
  ])("ReadAnswer names %s", async (param, fields) => {
    await expect(ledger.billing.readAnswer(fields)).rejects.toMatchObject(refusal(param));
  });

  test.each([
    ["account_id", { accountId: "" }],
    ["spender_id", { spenderId: "x" }],
    ["claim", { claim: undefined }],
    ["claim.key", { claim: { key: Buffer.alloc(31), fingerprint: Buffer.alloc(32) } }],
    ["claim.fingerprint", { claim: { key: Buffer.alloc(32), fingerprint: Buffer.alloc(0) } }],
  ])("JudgeClaim names %s", async (param, fields) => {
    const claim = { key: Buffer.alloc(32), fingerprint: Buffer.alloc(32) };
    const call = ledger.billing.judgeClaim({ ...mine, claim, ...fields });
    await expect(call).rejects.toMatchObject(refusal(param));
  });

  test.each([
    ["account_id", { accountId: "" }],
    ["spender_id", { spenderId: "x" }],
    ["claim_key", { claimKey: Buffer.alloc(31) }],
    ["credits", { credits: -1n }],
  ])("CheckSpender names %s", async (param, fields) => {
    await expect(ledger.billing.checkSpender({ ...mine, ...fields })).rejects.toMatchObject(refusal(param));
  });

  test.each([
    ["service", { service: "" }],
    ["limit", { limit: -1 }],
    ["limit", { limit: 1_001 }],
    ["lease_ms", { leaseMs: 0n }],
    ["lease_ms", { leaseMs: 2n ** 40n }],
  ])("LeaseExpiredHolds names %s", async (param, fields) => {
    await expect(ledger.billing.leaseExpiredHolds({ ...lease, ...fields })).rejects.toMatchObject(
      refusal(param),
    );
  });

  test("ListHolds, GetCredits and OpenAccount name theirs", async () => {
    const { billing } = ledger;
    await expect(billing.listHolds({ accountId: "x" })).rejects.toMatchObject(refusal("account_id"));
    await expect(billing.listHolds({ after: "x" })).rejects.toMatchObject(refusal("after"));
    await expect(billing.listHolds({ limit: 1_001 })).rejects.toMatchObject(refusal("limit"));
    await expect(billing.listHolds({ state: 7 as HoldState })).rejects.toMatchObject(refusal("state"));
    await expect(billing.getCredits({ accountId: "" })).rejects.toMatchObject(refusal("account_id"));
    await expect(billing.openAccount({ accountId: String(THURSDAY) })).rejects.toMatchObject(
      refusal("account_id"),
    );
  });
});
