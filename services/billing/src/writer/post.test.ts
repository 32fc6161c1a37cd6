// What place, capture, release, extend and a next attempt do to one hold and its account, each among operations of others.
import { randomUUID } from "node:crypto";
import { OutcomeCode } from "@gr/proto/billing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bookingsOf } from "../test/ledger-store.ts";
import { type BillingUnderTest, startBilling } from "../test/start-billing.ts";
import {
  abandon,
  capture,
  DEADLINE,
  extend,
  nextAttempt,
  type OperationInit,
  openAccount,
  openWallet,
  place,
  post,
  providerOf,
  putSpender,
  release,
  type Wallet,
} from "../test/wallet.ts";

const { DONE, INSUFFICIENT_CREDITS, SPEND_LIMIT_EXCEEDED, SPENDER_INACTIVE, SPENDER_EXPIRED } = OutcomeCode;
const { UNKNOWN_HOLD, ALREADY_RESOLVED } = OutcomeCode;

let ledger: BillingUnderTest;
let bystander: Wallet;
beforeAll(async () => {
  ledger = await startBilling();
  bystander = await openWallet(ledger.billing, 1_000_000n);
});
afterAll(() => ledger.stopSound());

describe("an operation in a batch of many", () => {
  async function run(operation: OperationInit) {
    const others = () => Array.from({ length: 6 }, () => place(bystander, 1n));
    const before = others();
    const outcomes = await post(ledger.billing, ...before, operation, ...others());
    const outcome = outcomes[before.length];
    if (outcome === undefined) throw new Error("no outcome");
    return outcome;
  }
  async function code(operation: OperationInit) {
    return (await run(operation)).code;
  }
  const wallet = (credits: bigint, spender = {}) => openWallet(ledger.billing, credits, spender);
  async function balance({ accountId }: Wallet) {
    const { remainingCredits, heldCredits } = await ledger.billing.getCredits({ accountId });
    return { remaining: remainingCredits, held: heldCredits };
  }
  async function usage({ accountId, spenderId }: Wallet) {
    const { usage: all } = await ledger.billing.getCredits({ accountId, bySpender: true });
    const found = all.find(({ spender }) => spender?.spenderId === spenderId);
    return found && { used: found.usedCredits, requests: found.requests };
  }
  async function losses(holdId: string) {
    const found = (await costs(holdId)).filter(({ kind }) => kind !== "charge");
    return found.map(({ kind, cost }) => ({ kind, cost }));
  }
  /** Providers and costs of each attempt. */
  const costs = (holdId: string) => bookingsOf(ledger.db, holdId);
  async function holdOf(from: Wallet) {
    const { holds } = await ledger.billing.listHolds({ accountId: from.accountId });
    return holds[0];
  }

  describe("place", () => {
    test("reserves its amount and charges nothing", async () => {
      const mine = await wallet(100n);
      expect(await code(place(mine, 60n))).toBe(DONE);
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 60n });
      expect(await usage(mine)).toEqual({ used: 0n, requests: 0n });
    });

    test("takes the last credit and not one more", async () => {
      const mine = await wallet(100n);
      expect(await run(place(mine, 101n))).toMatchObject({
        code: INSUFFICIENT_CREDITS,
        inFlight: false,
        availableCredits: 100n,
      });
      expect(await code(place(mine, 100n))).toBe(DONE);
      expect(await run(place(mine, 1n))).toMatchObject({
        code: INSUFFICIENT_CREDITS,
        inFlight: true,
        availableCredits: 0n,
      });
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 100n });
    });

    test("of the same hold again holds once", async () => {
      const mine = await wallet(100n);
      const operation = place(mine, 60n);
      expect(await code(operation)).toBe(DONE);
      expect(await code(operation)).toBe(DONE);
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 60n });
    });

    test("of a resolved hold is refused", async () => {
      const mine = await wallet(100n);
      const [captured, released] = [place(mine, 10n), place(mine, 10n)];
      await run(captured);
      await run(released);
      await run(capture(captured.holdId, 10n));
      await run(release(released.holdId));
      expect(await code(captured)).toBe(ALREADY_RESOLVED);
      expect(await code(released)).toBe(ALREADY_RESOLVED);
      expect(await balance(mine)).toEqual({ remaining: 90n, held: 0n });
    });

    test("under the id of another key's open hold is refused", async () => {
      const mine = await wallet(100n);
      const { holdId, ...operation } = place(mine, 10n);
      await run(operation);
      const sibling = { ...mine, spenderId: await putSpender(ledger.billing, mine.accountId) };
      expect(await code(place(sibling, 10n, { holdId }))).toBe(ALREADY_RESOLVED);
    });

    test("needs an active spender of that account", async () => {
      const [mine, yours] = [await wallet(100n), await wallet(100n)];
      const inactive = await wallet(100n, { active: false });
      const unknown = { ...mine, spenderId: randomUUID() };
      const foreign = { ...mine, spenderId: yours.spenderId };
      const nowhere = { accountId: randomUUID(), spenderId: mine.spenderId };
      for (const from of [inactive, unknown, foreign, nowhere]) {
        expect(await code(place(from, 0n))).toBe(SPENDER_INACTIVE);
        expect(await code(place(from, 1n))).toBe(SPENDER_INACTIVE);
      }
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 0n });
    });

    test("needs a spender that has not expired, and says when it did", async () => {
      const expiresAt = BigInt(ledger.clock.now() + 1);
      const mine = await wallet(100n, { expiresAt });
      expect(await code(place(mine, 1n))).toBe(DONE);
      const expired = await wallet(100n, { expiresAt: expiresAt - 1n });
      expect(await run(place(expired, 1n))).toMatchObject({
        code: SPENDER_EXPIRED,
        expiresAt: expiresAt - 1n,
        availableCredits: 100n,
      });
      expect(await code(place(expired, 0n))).toBe(SPENDER_EXPIRED);
    });

    test("is refused by the cap even with credits to spare", async () => {
      const mine = await wallet(100n, { capCredits: 50n });
      expect(await run(place(mine, 51n))).toMatchObject({
        code: SPEND_LIMIT_EXCEEDED,
        inFlight: false,
        capCredits: 50n,
        resetsAt: 0n,
        availableCredits: 100n,
      });
      expect(await code(place(mine, 50n))).toBe(DONE);
      expect(await run(place(mine, 1n))).toMatchObject({ code: SPEND_LIMIT_EXCEEDED, inFlight: true });
    });

    test("is refused for what waiting cannot mend rather than for what it can", async () => {
      const mine = await wallet(10n, { capCredits: 50n });
      expect(await code(place(mine, 10n))).toBe(DONE);
      const other = {
        ...mine,
        spenderId: await putSpender(ledger.billing, mine.accountId, { capCredits: 15n }),
      };
      // The cap has room for 15, but the account never had more than 10.
      expect(await run(place(other, 11n))).toMatchObject({ code: INSUFFICIENT_CREDITS, inFlight: false });
      expect(await run(place(mine, 45n))).toMatchObject({ code: INSUFFICIENT_CREDITS, inFlight: false });
      expect(await run(place(mine, 51n))).toMatchObject({ code: SPEND_LIMIT_EXCEEDED, inFlight: false });
    });

    test("of nothing is done on a spent balance and a spent cap", async () => {
      const mine = await wallet(0n, { capCredits: 0n });
      const free = place(mine, 0n);
      expect(await code(free)).toBe(DONE);
      expect(await code(capture(free.holdId, 0n))).toBe(DONE);
      expect(await usage(mine)).toEqual({ used: 0n, requests: 1n });
      expect(await code(place(mine, 1n))).toBe(SPEND_LIMIT_EXCEEDED);
    });

    test("of nothing is done even after an overrun of the balance and the cap", async () => {
      const mine = await wallet(10n, { capCredits: 10n });
      const hold = place(mine, 10n);
      await run(hold);
      await run(capture(hold.holdId, 50n));
      expect(await code(place(mine, 0n))).toBe(DONE);
      expect(await run(place(mine, 1n))).toMatchObject({ code: SPEND_LIMIT_EXCEEDED, inFlight: false });
    });
  });

  describe("capture", () => {
    test("charges what was used and frees the rest", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(capture(hold.holdId, 25n, 2_400_000_001n))).toBe(DONE);
      expect(await balance(mine)).toEqual({ remaining: 75n, held: 0n });
      expect(await usage(mine)).toEqual({ used: 25n, requests: 1n });
      const { holds } = await ledger.billing.listHolds({ accountId: mine.accountId });
      expect(holds).toMatchObject([{ chargedCredits: 25n, costPicoUsd: 2_400_000_001n }]);
    });

    test("never charges more than the hold, and the same capture again is done", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(capture(hold.holdId, 130n, 7n))).toBe(DONE);
      expect(await code(capture(hold.holdId, 130n, 7n))).toBe(DONE);
      expect(await balance(mine)).toEqual({ remaining: 40n, held: 0n });
      expect(await usage(mine)).toEqual({ used: 60n, requests: 1n });
      const { holds } = await ledger.billing.listHolds({ accountId: mine.accountId });
      expect(holds).toMatchObject([{ chargedCredits: 60n, costPicoUsd: 7n }]);
    });

    test("twice charges once", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(capture(hold.holdId, 25n))).toBe(DONE);
      expect(await code(capture(hold.holdId, 25n))).toBe(DONE);
      expect(await balance(mine)).toEqual({ remaining: 75n, held: 0n });
      expect(await usage(mine)).toEqual({ used: 25n, requests: 1n });
    });

    test("again with other values charges nothing; a higher cost is our loss", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await run(capture(hold.holdId, 25n, 100n));
      expect(await code(capture(hold.holdId, 26n, 100n))).toBe(ALREADY_RESOLVED);
      expect(await losses(hold.holdId)).toEqual([]);
      expect(await code(capture(hold.holdId, 25n, 130n))).toBe(ALREADY_RESOLVED);
      expect(await losses(hold.holdId)).toEqual([{ kind: "late", cost: 30n }]);
      expect(await balance(mine)).toEqual({ remaining: 75n, held: 0n });
    });

    test("of a released hold is refused and its cost booked once as late", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await run(abandon(hold.holdId));
      expect(await code(capture(hold.holdId, 25n, 2_500n))).toBe(ALREADY_RESOLVED);
      expect(await code(capture(hold.holdId, 25n, 2_500n))).toBe(ALREADY_RESOLVED);
      expect(await losses(hold.holdId)).toEqual([{ kind: "late", cost: 2_500n }]);
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 0n });
      expect(await usage(mine)).toEqual({ used: 0n, requests: 0n });
    });

    test("works for a spender that was switched off meanwhile", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await putSpender(ledger.billing, mine.accountId, { spenderId: mine.spenderId, active: false });
      expect(await code(capture(hold.holdId, 25n))).toBe(DONE);
      expect(await usage(mine)).toEqual({ used: 25n, requests: 1n });
    });
  });

  describe("release", () => {
    test("frees the hold and charges nothing", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(release(hold.holdId))).toBe(DONE);
      expect(await code(release(hold.holdId))).toBe(DONE);
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 0n });
      expect(await usage(mine)).toEqual({ used: 0n, requests: 0n });
      expect(await losses(hold.holdId)).toEqual([]);
    });

    test("books a billed failure to our losses, once", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(release(hold.holdId, 77n))).toBe(DONE);
      expect(await code(release(hold.holdId, 77n))).toBe(DONE);
      expect(await losses(hold.holdId)).toEqual([{ kind: "failed", cost: 77n }]);
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 0n });
    });

    test("as unresolved books a known cost as late", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(abandon(hold.holdId, 77n))).toBe(DONE);
      expect(await losses(hold.holdId)).toEqual([{ kind: "late", cost: 77n }]);
    });

    test("again with a higher cost books the difference as late, each time and once", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await run(release(hold.holdId, 70n));
      for (const cost of [77n, 77n, 90n, 77n, 90n]) {
        expect(await code(release(hold.holdId, cost))).toBe(DONE);
      }
      expect(await losses(hold.holdId)).toEqual([
        { kind: "failed", cost: 70n },
        { kind: "late", cost: 7n },
        { kind: "late", cost: 13n },
      ]);
    });

    test("of a captured hold is refused and the charge stays", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await run(capture(hold.holdId, 25n));
      expect(await code(release(hold.holdId))).toBe(ALREADY_RESOLVED);
      expect(await balance(mine)).toEqual({ remaining: 75n, held: 0n });
      expect(await losses(hold.holdId)).toEqual([]);
    });
  });

  describe("next attempt", () => {
    test("books the failed attempt to its provider; the capture is the next one's", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await holdOf(mine)).toMatchObject({ attempt: 1, provider: "openrouter" });
      expect(await code(nextAttempt(hold.holdId, 2, 70n, DEADLINE + 5n))).toBe(DONE);
      expect(await code(nextAttempt(hold.holdId, 3, 0n))).toBe(DONE);
      expect(await holdOf(mine)).toMatchObject({
        attempt: 3,
        provider: "provider-3",
        upstreamModel: "upstream/chat-3",
        deadlineAt: DEADLINE + 5n,
        costPicoUsd: 0n,
      });
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 60n });
      expect(await code(capture(hold.holdId, 25n, 2_500n))).toBe(DONE);
      expect(await costs(hold.holdId)).toEqual([
        { attempt: 1, kind: "failed", provider: "openrouter", cost: 70n },
        { attempt: 3, kind: "charge", provider: "provider-3", cost: 2_500n },
      ]);
      expect(await balance(mine)).toEqual({ remaining: 75n, held: 0n });
      expect(await holdOf(mine)).toMatchObject({ costPicoUsd: 2_500n });
    });

    test("every attempt may fail at a cost, and the last one's may come late", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await run(nextAttempt(hold.holdId, 2, 70n));
      await run(nextAttempt(hold.holdId, 3, 80n));
      expect(await code(release(hold.holdId, 90n))).toBe(DONE);
      expect(await code(release(hold.holdId, 95n))).toBe(DONE);
      expect(await costs(hold.holdId)).toEqual([
        { attempt: 1, kind: "failed", provider: "openrouter", cost: 70n },
        { attempt: 2, kind: "failed", provider: "provider-2", cost: 80n },
        { attempt: 3, kind: "failed", provider: "provider-3", cost: 90n },
        { attempt: 3, kind: "late", provider: "provider-3", cost: 5n },
      ]);
    });

    test("again is done and changes nothing", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(nextAttempt(hold.holdId, 2, 70n))).toBe(DONE);
      expect(await code(nextAttempt(hold.holdId, 2, 90n, DEADLINE + 5n))).toBe(DONE);
      expect(await costs(hold.holdId)).toMatchObject([{ attempt: 1, cost: 70n }]);
      expect(await holdOf(mine)).toMatchObject({ attempt: 2, deadlineAt: DEADLINE });
    });

    test.each(["open", "captured", "released"] as const)(
      "again, and naming who made the one before, books what that one cost more, once; its hold is %s",
      async (state) => {
        const mine = await wallet(100n);
        const hold = place(mine, 60n);
        const late = (attempt: number, cost: bigint) =>
          nextAttempt(hold.holdId, attempt, cost, DEADLINE + 5n, providerOf(attempt - 1));
        await run(hold);
        await run(nextAttempt(hold.holdId, 2, 70n));
        await run(nextAttempt(hold.holdId, 3));
        if (state !== "open")
          await run(state === "captured" ? capture(hold.holdId, 25n) : release(hold.holdId));
        const before = await holdOf(mine);
        for (const cost of [90n, 90n, 80n, 95n]) await run(late(2, cost));
        for (const cost of [5n, 5n]) {
          expect(await code(late(3, cost))).toBe(state === "open" ? DONE : ALREADY_RESOLVED);
        }
        expect((await costs(hold.holdId)).filter(({ attempt }) => attempt < 3)).toEqual([
          { attempt: 1, kind: "failed", provider: "openrouter", cost: 70n },
          { attempt: 1, kind: "late", provider: "openrouter", cost: 20n },
          { attempt: 1, kind: "late", provider: "openrouter", cost: 5n },
          { attempt: 2, kind: "late", provider: "provider-2", cost: 5n },
        ]);
        expect(await holdOf(mine)).toEqual(before);
      },
    );

    test("that is not the one after the current is refused", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      expect(await code(nextAttempt(hold.holdId, 3, 70n))).toBe(ALREADY_RESOLVED);
      await run(nextAttempt(hold.holdId, 2));
      await run(nextAttempt(hold.holdId, 3));
      expect(await code(nextAttempt(hold.holdId, 2, 70n))).toBe(ALREADY_RESOLVED);
      expect(await costs(hold.holdId)).toEqual([]);
      expect(await holdOf(mine)).toMatchObject({ attempt: 3, provider: "provider-3" });
    });

    test("of a resolved hold is refused, and its cost booked once as late", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await run(abandon(hold.holdId));
      expect(await code(nextAttempt(hold.holdId, 2, 70n))).toBe(ALREADY_RESOLVED);
      expect(await code(nextAttempt(hold.holdId, 2, 70n))).toBe(ALREADY_RESOLVED);
      expect(await code(nextAttempt(hold.holdId, 3, 90n))).toBe(ALREADY_RESOLVED);
      expect(await costs(hold.holdId)).toEqual([
        { attempt: 1, kind: "late", provider: "openrouter", cost: 70n },
      ]);
      expect(await holdOf(mine)).toMatchObject({ attempt: 1, provider: "openrouter" });
    });

    test("of a hold that was resolved after it began books nothing twice", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 60n);
      await run(hold);
      await run(nextAttempt(hold.holdId, 2, 70n));
      await run(release(hold.holdId));
      expect(await code(nextAttempt(hold.holdId, 2, 70n))).toBe(ALREADY_RESOLVED);
      expect(await costs(hold.holdId)).toMatchObject([{ attempt: 1, kind: "failed", cost: 70n }]);
    });
  });

  describe("extend", () => {
    test("raises an open hold to the new total and never lowers it", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 40n);
      await run(hold);
      expect(await code(extend(hold.holdId, 90n, DEADLINE + 5_000n))).toBe(DONE);
      expect(await code(extend(hold.holdId, 90n, DEADLINE + 5_000n))).toBe(DONE);
      expect(await code(extend(hold.holdId, 10n))).toBe(DONE);
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 90n });
      const { holds } = await ledger.billing.listHolds({ accountId: mine.accountId });
      expect(holds).toMatchObject([{ credits: 90n, deadlineAt: DEADLINE + 5_000n }]);
    });

    test("is refused as a place of the difference would be", async () => {
      const mine = await wallet(100n, { capCredits: 80n });
      const [hold, other] = [place(mine, 40n), place(mine, 30n)];
      await run(hold);
      await run(other);
      expect(await run(extend(hold.holdId, 51n))).toMatchObject({
        code: SPEND_LIMIT_EXCEEDED,
        inFlight: true,
      });
      expect(await run(extend(hold.holdId, 81n))).toMatchObject({
        code: SPEND_LIMIT_EXCEEDED,
        inFlight: false,
      });
      await putSpender(ledger.billing, mine.accountId, { spenderId: mine.spenderId });
      expect(await run(extend(hold.holdId, 71n))).toMatchObject({
        code: INSUFFICIENT_CREDITS,
        inFlight: true,
      });
      expect(await run(extend(hold.holdId, 101n))).toMatchObject({
        code: INSUFFICIENT_CREDITS,
        inFlight: false,
      });
      expect(await balance(mine)).toEqual({ remaining: 100n, held: 70n });
    });

    test("takes no more from a spender that was switched off, but may prolong", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 40n);
      await run(hold);
      await putSpender(ledger.billing, mine.accountId, { spenderId: mine.spenderId, active: false });
      expect(await code(extend(hold.holdId, 41n))).toBe(SPENDER_INACTIVE);
      expect(await code(extend(hold.holdId, 40n, DEADLINE + 1n))).toBe(DONE);
    });

    test("of a resolved hold says so", async () => {
      const mine = await wallet(100n);
      const hold = place(mine, 40n);
      await run(hold);
      await run(release(hold.holdId));
      expect(await code(extend(hold.holdId, 41n))).toBe(ALREADY_RESOLVED);
    });
  });
});

test("an operation on an unknown hold says so", async () => {
  const unknown = [
    capture(randomUUID(), 1n),
    release(randomUUID(), 5n),
    nextAttempt(randomUUID(), 2, 5n),
    extend(randomUUID(), 41n),
  ];
  const outcomes = await post(ledger.billing, ...unknown);
  expect(outcomes.map(({ code }) => code)).toEqual(unknown.map(() => UNKNOWN_HOLD));
});

describe("a batch", () => {
  test("is applied in order, also to one hold", async () => {
    const mine = await openWallet(ledger.billing, 100n);
    const [first, second] = [place(mine, 100n), place(mine, 100n)];
    const outcomes = await post(
      ledger.billing,
      first,
      first,
      second,
      capture(first.holdId, 0n),
      capture(first.holdId, 0n),
      first,
      second,
      release(second.holdId),
      capture(second.holdId, 5n),
    );
    expect(outcomes.map(({ code }) => code)).toEqual([
      DONE,
      DONE,
      INSUFFICIENT_CREDITS,
      DONE,
      DONE,
      ALREADY_RESOLVED,
      DONE,
      DONE,
      ALREADY_RESOLVED,
    ]);
  });

  test("leaves the neighbours of a refused operation alone", async () => {
    const mine = await openWallet(ledger.billing, 10n, { capCredits: 8n });
    const poor = { accountId: await openAccount(ledger.billing, 0n), spenderId: mine.spenderId };
    const outcomes = await post(
      ledger.billing,
      place(mine, 5n),
      place(mine, 4n),
      place(poor, 1n),
      capture(randomUUID(), 1n),
      place(mine, 3n),
    );
    expect(outcomes.map(({ code }) => code)).toEqual([
      DONE,
      SPEND_LIMIT_EXCEEDED,
      SPENDER_INACTIVE,
      UNKNOWN_HOLD,
      DONE,
    ]);
  });
});
