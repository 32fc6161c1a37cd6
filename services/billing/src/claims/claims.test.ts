// What an Idempotency-Key means to money: one key is charged at most once, and runs again only when its earlier run
// was free. Every refusal by a claim costs nothing and places nothing.
import { OutcomeCode } from "@gr/proto/billing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { bucketOf } from "../chain/bucket.ts";
import { type BillingUnderTest, startBilling, THURSDAY } from "../test/start-billing.ts";
import {
  abandon,
  capture,
  claiming,
  claimOf,
  extend,
  type OperationInit,
  openAccount,
  openWallet,
  place,
  post,
  postOne,
  putSpender,
  release,
  type Wallet,
} from "../test/wallet.ts";

const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED, SPENDER_INACTIVE, SPENDER_EXPIRED } = OutcomeCode;
const { ALREADY_RESOLVED, CLAIM_IN_PROGRESS, CLAIM_MISMATCH, CLAIM_FINISHED } = OutcomeCode;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let ledger: BillingUnderTest;
beforeAll(async () => {
  ledger = await startBilling();
});
beforeEach(() => ledger.clock.set(THURSDAY));
afterAll(() => ledger.stopSound());

const one = (operation: OperationInit) => postOne(ledger.inProcess, operation);
const code = async (operation: OperationInit) => (await one(operation)).code;
const codes = async (...operations: OperationInit[]) =>
  (await post(ledger.inProcess, ...operations)).map((outcome) => outcome.code);
const open = (credits = 1_000n, spender = {}) => openWallet(ledger.inProcess, credits, spender);
const keep = (holdId: string, credits = 30n, costPicoUsd = credits * 100_000_000n) =>
  ledger.inProcess.keepAnswer({
    holdId,
    credits,
    costPicoUsd,
    contentType: "application/json",
    body: Buffer.from("{}"),
  });

const judge = async ({ accountId, spenderId }: Wallet, key = "k", content = "content") =>
  (await ledger.inProcess.judgeClaim({ accountId, spenderId, claim: claimOf(key, content) })).outcome;

async function balance({ accountId }: Wallet) {
  const { remainingCredits, heldCredits } = await ledger.inProcess.getCredits({ accountId });
  return { remaining: remainingCredits, held: heldCredits };
}

/** Owners of the account's keys. */
async function claimsOf({ accountId }: Wallet): Promise<unknown[]> {
  const { rows } = await ledger.db.query<{ hold_id: string }>(
    `SELECT hold_id FROM (SELECT DISTINCT ON (key) * FROM claim WHERE account_id = $1 ORDER BY key, generation DESC) latest
      ORDER BY claimed_at, hold_id`,
    [accountId],
  );
  return rows.map((row) => row.hold_id);
}

/** A hold with the key "k" that has come to this end. */
async function first(from: Wallet, end?: (holdId: string) => OperationInit): Promise<string> {
  const { holdId, ...operation } = claiming(from, 30n, "k");
  expect(await code(operation)).toBe(DONE);
  if (end !== undefined) expect(await code(end(holdId))).toBe(DONE);
  return holdId;
}

describe("a key", () => {
  test("that is new is claimed by the hold that is placed", async () => {
    const mine = await open();
    const holdId = await first(mine);
    expect(await balance(mine)).toEqual({ remaining: 1_000n, held: 30n });
    expect(await claimsOf(mine)).toEqual([holdId]);
  });

  test("whose request runs is refused, and nothing is placed", async () => {
    const mine = await open();
    const holdId = await first(mine);
    expect(await one(claiming(mine, 30n, "k"))).toMatchObject({ code: CLAIM_IN_PROGRESS, earlierHoldId: "" });
    await one(extend(holdId, 50n));
    expect(await code(claiming(mine, 30n, "k"))).toBe(CLAIM_IN_PROGRESS);
    expect(await balance(mine)).toEqual({ remaining: 1_000n, held: 50n });
    expect(await claimsOf(mine)).toEqual([holdId]);
  });

  test("whose request was charged answers with that request, and charges nothing", async () => {
    const mine = await open();
    const holdId = await first(mine, (id) => capture(id, 20n));
    for (let round = 0; round < 2; round += 1) {
      expect(await one(claiming(mine, 30n, "k"))).toMatchObject({
        code: CLAIM_FINISHED,
        earlierHoldId: holdId,
      });
    }
    expect(await balance(mine)).toEqual({ remaining: 980n, held: 0n });
  });

  test("whose request another key was charged for is answered to a key with room, and refused to one without", async () => {
    const mine = await open();
    const holdId = await first(mine, (id) => capture(id, 20n));
    const sibling = async (spendLimit: bigint) => ({
      ...mine,
      spenderId: await putSpender(ledger.inProcess, mine.accountId, { capCredits: spendLimit }),
    });
    const [rich, poor, none] = [await sibling(30n), await sibling(29n), await sibling(0n)];
    const refused = {
      code: SPEND_LIMIT_EXCEEDED,
      earlierHoldId: "",
      inFlight: false,
      availableCredits: 980n,
    };
    const answered = { code: CLAIM_FINISHED, earlierHoldId: holdId };
    expect(await one(claiming(rich, 30n, "k"))).toMatchObject(answered);
    expect(await one(claiming(poor, 30n, "k"))).toMatchObject({ ...refused, capCredits: 29n });
    expect(await one(claiming(none, 30n, "k"))).toMatchObject({ ...refused, capCredits: 0n });
    expect(await judge(rich)).toMatchObject(answered);
    expect(await judge(poor)).toMatchObject({ ...refused, capCredits: 29n });
    expect(await judge(none)).toMatchObject({ ...refused, capCredits: 0n });
    // Room that only open holds take does not stand in the way; what is free fits into every cap.
    expect(await code(place(rich, 30n))).toBe(DONE);
    expect(await one(claiming(rich, 30n, "k"))).toMatchObject(answered);
    expect(await one(claiming(none, 0n, "k"))).toMatchObject(answered);
    expect(await one(claiming(none, 30n, "k", { content: "other" }))).toMatchObject({ code: CLAIM_MISMATCH });
  });

  test("is answered to the key that was charged for it, whatever its cap is by now", async () => {
    const mine = await open();
    const holdId = await first(mine, (id) => capture(id, 20n));
    await putSpender(ledger.inProcess, mine.accountId, { spenderId: mine.spenderId, capCredits: 0n });
    const answered = { code: CLAIM_FINISHED, earlierHoldId: holdId };
    expect(await one(claiming(mine, 30n, "k"))).toMatchObject(answered);
    expect(await judge(mine)).toMatchObject(answered);
  });

  test.each([
    ["released", release],
    ["given up", abandon],
  ])("whose request was %s runs again", async (_, end) => {
    const mine = await open();
    await first(mine, (holdId) => end(holdId, 5n));
    const again = await first(mine);
    expect(await code(claiming(mine, 30n, "k"))).toBe(CLAIM_IN_PROGRESS);
    expect(await claimsOf(mine)).toEqual([again]);
  });

  test("whose request was released does not run again when its answer was kept", async () => {
    const mine = await open();
    const holdId = await first(mine);
    await keep(holdId);
    await one(release(holdId));
    expect(await one(claiming(mine, 30n, "k"))).toMatchObject({
      code: CLAIM_FINISHED,
      earlierHoldId: holdId,
    });
  });

  test("that runs again may ask for something else, and has forgotten the earlier request", async () => {
    const mine = await open();
    await first(mine, release);
    const other = claiming(mine, 30n, "k", { content: "other" });
    expect(await code(other)).toBe(DONE);
    expect(await code(claiming(mine, 30n, "k"))).toBe(CLAIM_MISMATCH);
    expect(await code(claiming(mine, 30n, "k", { content: "other" }))).toBe(CLAIM_IN_PROGRESS);
  });

  test("with other content is refused, whether its request runs or was charged", async () => {
    const mine = await open();
    const holdId = await first(mine);
    const other = () => claiming(mine, 30n, "k", { content: "other" });
    expect(await code(other())).toBe(CLAIM_MISMATCH);
    await one(capture(holdId, 20n));
    expect(await one(other())).toMatchObject({ code: CLAIM_MISMATCH, earlierHoldId: "" });
    expect(await balance(mine)).toEqual({ remaining: 980n, held: 0n });
  });

  test("belongs to one account, and other keys are other keys", async () => {
    const [mine, yours] = [await open(), await open()];
    await first(mine);
    await first(yours);
    expect(await code(claiming(mine, 30n, "another key"))).toBe(DONE);
  });

  test("belongs to the account, whichever of its keys spends", async () => {
    const mine = await open();
    const second = { ...mine, spenderId: await putSpender(ledger.inProcess, mine.accountId) };
    await first(mine);
    expect(await code(claiming(second, 30n, "k"))).toBe(CLAIM_IN_PROGRESS);
  });
});

describe("a replay", () => {
  test("costs nothing: neither balance, cap nor the key's state of a running request matters", async () => {
    const mine = await open(30n, { capCredits: 30n });
    await first(mine, (holdId) => capture(holdId, 30n));
    expect(await code(place(mine, 30n))).toBe(SPEND_LIMIT_EXCEEDED);
    expect(await code(claiming(mine, 30n, "k"))).toBe(CLAIM_FINISHED);
    const poor = await open(30n);
    await first(poor);
    expect(await code(place(poor, 30n))).toBe(INSUFFICIENT_CREDITS);
    expect(await code(claiming(poor, 30n, "k"))).toBe(CLAIM_IN_PROGRESS);
  });

  test.each([
    ["runs", undefined, "content"],
    ["was charged", (holdId: string) => capture(holdId, 20n), "content"],
    ["was another", (holdId: string) => capture(holdId, 20n), "other"],
  ])("of a request that %s needs a spender that may spend", async (_, end, content) => {
    const mine = await open();
    await first(mine, end);
    const yours = await open();
    const again = (spenderId: string) =>
      one(claiming({ accountId: mine.accountId, spenderId }, 30n, "k", { content }));
    const expiresAt = BigInt(THURSDAY + 5);
    const expiring = await putSpender(ledger.inProcess, mine.accountId, { expiresAt });
    const inactive = await putSpender(ledger.inProcess, mine.accountId, { active: false });
    for (const spenderId of [inactive, yours.spenderId, crypto.randomUUID()]) {
      expect(await again(spenderId)).toMatchObject({ code: SPENDER_INACTIVE, earlierHoldId: "" });
    }
    ledger.clock.advance(4);
    expect((await again(expiring)).code).toBeGreaterThan(SPENDER_EXPIRED);
    ledger.clock.advance(1);
    expect(await again(expiring)).toMatchObject({ code: SPENDER_EXPIRED, expiresAt, earlierHoldId: "" });
    await putSpender(ledger.inProcess, mine.accountId, { spenderId: mine.spenderId, active: false });
    expect((await again(mine.spenderId)).code).toBe(SPENDER_INACTIVE);
  });
});

describe("a claim that is only asked about", () => {
  test("is answered as its place would be, and nothing is placed or claimed", async () => {
    const mine = await open();
    expect(await judge(mine)).toMatchObject({ code: DONE });
    expect(await claimsOf(mine)).toEqual([]);
    const holdId = await first(mine);
    expect(await judge(mine)).toMatchObject({ code: CLAIM_IN_PROGRESS, earlierHoldId: "" });
    expect(await judge(mine, "k", "other")).toMatchObject({ code: CLAIM_MISMATCH, earlierHoldId: "" });
    expect(await judge(mine, "another key")).toMatchObject({ code: DONE });
    expect(await judge(await open())).toMatchObject({ code: DONE });
    await one(capture(holdId, 20n));
    expect(await judge(mine)).toMatchObject({ code: CLAIM_FINISHED, earlierHoldId: holdId });
    expect(await judge({ ...mine, spenderId: crypto.randomUUID() })).toMatchObject({
      code: SPENDER_INACTIVE,
    });
    expect(await balance(mine)).toEqual({ remaining: 980n, held: 0n });
    ledger.clock.advance(DAY);
    expect(await judge(mine)).toMatchObject({ code: DONE });
    expect(await claimsOf(mine)).toEqual([holdId]);
  });

  test("is free when its request was", async () => {
    const mine = await open();
    await first(mine, release);
    expect(await judge(mine)).toMatchObject({ code: DONE });
  });
});

describe("a place that is refused", () => {
  test("leaves no claim, so the same key may try again", async () => {
    const mine = await open(10n);
    expect(await code(claiming(mine, 30n, "k"))).toBe(INSUFFICIENT_CREDITS);
    expect(await claimsOf(mine)).toEqual([]);
    expect(await code(claiming(mine, 10n, "k", { content: "less" }))).toBe(DONE);
  });

  test("leaves the claim of an earlier request as it was", async () => {
    const mine = await open(30n);
    const holdId = await first(mine, release);
    expect(await code(claiming(mine, 31n, "k"))).toBe(INSUFFICIENT_CREDITS);
    expect(await claimsOf(mine)).toEqual([holdId]);
  });

  test("for an unknown account or spender leaves no claim", async () => {
    const mine = await open();
    const nowhere = { accountId: crypto.randomUUID(), spenderId: mine.spenderId };
    const nobody = { accountId: mine.accountId, spenderId: crypto.randomUUID() };
    expect(await codes(claiming(nowhere, 1n, "k"), claiming(nobody, 1n, "k"))).toEqual([
      SPENDER_INACTIVE,
      SPENDER_INACTIVE,
    ]);
    expect([...(await claimsOf(nowhere)), ...(await claimsOf(nobody))]).toEqual([]);
  });
});

describe("the same place again", () => {
  test("is answered as one without a claim", async () => {
    const mine = await open();
    const operation = claiming(mine, 30n, "k");
    expect(await codes(operation, operation)).toEqual([DONE, DONE]);
    expect(await code(operation)).toBe(DONE);
    await one(capture(operation.holdId, 30n));
    expect(await code(operation)).toBe(ALREADY_RESOLVED);
    expect(await balance(mine)).toEqual({ remaining: 970n, held: 0n });
  });

  test("of a hold that somebody else's key belongs to by now does not get it back", async () => {
    const mine = await open();
    const early = claiming(mine, 30n, "k");
    await one(early);
    await one(release(early.holdId));
    const late = await first(mine);
    expect(await code(early)).toBe(ALREADY_RESOLVED);
    expect(await claimsOf(mine)).toEqual([late]);
  });

  test("with another key, or with one that it did not have, claims nothing", async () => {
    const mine = await open();
    const plain = place(mine, 1n);
    await one(plain);
    expect(await code(claiming(mine, 1n, "k", { holdId: plain.holdId }))).toBe(DONE);
    expect(await claimsOf(mine)).toEqual([]);
    const holdId = await first(mine);
    expect(await code(claiming(mine, 30n, "another key", { holdId }))).toBe(DONE);
    expect(await claimsOf(mine)).toEqual([holdId]);
  });
});

describe("after 24 hours", () => {
  test("the key of a request that was charged runs again, and not a millisecond earlier", async () => {
    const mine = await open();
    const old = await first(mine);
    ledger.clock.advance(HOUR);
    await one(capture(old, 30n));
    ledger.clock.set(THURSDAY + DAY - 1);
    expect(await code(claiming(mine, 30n, "k"))).toBe(CLAIM_FINISHED);
    expect(await code(claiming(mine, 30n, "k", { content: "other" }))).toBe(CLAIM_MISMATCH);
    ledger.clock.set(THURSDAY + DAY);
    const fresh = claiming(mine, 30n, "k", { content: "other" });
    expect(await code(fresh)).toBe(DONE);
    expect(await claimsOf(mine)).toEqual([fresh.holdId]);
    ledger.clock.advance(HOUR);
    expect(await code(claiming(mine, 30n, "k", { content: "other" }))).toBe(CLAIM_IN_PROGRESS);
  });

  test("the key of a request that still runs is not free", async () => {
    const mine = await open();
    const holdId = await first(mine);
    ledger.clock.advance(2 * DAY);
    expect(await code(claiming(mine, 30n, "k"))).toBe(CLAIM_IN_PROGRESS);
    expect(await code(claiming(mine, 30n, "k", { content: "other" }))).toBe(CLAIM_MISMATCH);
    expect(await claimsOf(mine)).toEqual([holdId]);
  });
});

describe("in one batch", () => {
  test("every operation sees what those before it did to the key", async () => {
    const mine = await open();
    const [a, b, c] = [claiming(mine, 30n, "k"), claiming(mine, 30n, "k"), claiming(mine, 30n, "k")];
    const unrelated = () => claiming(mine, 1n, crypto.randomUUID());
    expect(
      await codes(a, unrelated(), b, release(a.holdId), b, place(mine, 1n), c, capture(b.holdId, 9n), c),
    ).toEqual([DONE, DONE, CLAIM_IN_PROGRESS, DONE, DONE, DONE, CLAIM_IN_PROGRESS, DONE, CLAIM_FINISHED]);
    // The same in batches whose first operations end the hold of an earlier batch.
    expect(await codes(capture(b.holdId, 9n), c)).toEqual([DONE, CLAIM_FINISHED]);
    const d = claiming(mine, 30n, "d");
    await one(d);
    expect(await codes(release(d.holdId), claiming(mine, 30n, "d"))).toEqual([DONE, DONE]);
    expect(await balance(mine)).toEqual({ remaining: 991n, held: 32n });
  });

  test("places with claims stand between others, and the answers keep their order", async () => {
    const mine = await open();
    const charged = await first(mine, (holdId) => capture(holdId, 1n));
    const poor = { accountId: await openAccount(ledger.inProcess, 0n) };
    const poorSpender = { ...poor, spenderId: await putSpender(ledger.inProcess, poor.accountId) };
    const outcomes = await post(
      ledger.inProcess,
      place(mine, 1n),
      claiming(mine, 30n, "k"),
      place(poorSpender, 1n),
      claiming(mine, 30n, "k2"),
      claiming(mine, 30n, "k", { content: "other" }),
      capture(crypto.randomUUID(), 1n),
    );
    expect(outcomes.map((outcome) => outcome.code)).toEqual([
      DONE,
      CLAIM_FINISHED,
      INSUFFICIENT_CREDITS,
      DONE,
      CLAIM_MISMATCH,
      OutcomeCode.UNKNOWN_HOLD,
    ]);
    expect(outcomes[1]?.earlierHoldId).toBe(charged);
  });
});

test("a claim stores digests and nothing of the request", async () => {
  const mine = await open();
  const holdId = await first(mine);
  const { rows } = await ledger.db.query("SELECT * FROM claim WHERE account_id = $1", [mine.accountId]);
  expect(rows).toEqual([
    {
      account_id: mine.accountId,
      ...claimOf("k"),
      hold_id: holdId,
      claimed_at: BigInt(THURSDAY),
      bucket: bucketOf(mine.accountId),
      generation: 1,
    },
  ]);
});
