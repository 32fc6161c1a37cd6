// Idempotency-Keys, as the table "Idempotency" of billing's README has them, and the dry runs that ask about them.
import { describe, expect, test } from "@jest/globals";
import { decide } from "./decide.ts";
import { CLAIM_LIFETIME_MS, type ClaimRecord } from "./judge/claims.ts";
import { checkSpender, judgeClaim } from "./judge/judge-place.ts";
import type { Outcome } from "./outcome.ts";
import { ACCOUNT, budget, KEY, LedgerUnderTest, present, supply, TAG } from "./test/ledger-under-test.ts";

const SAME = { key: "claimed key", fingerprint: "content" };
const OTHER = { key: "claimed key", fingerprint: "other content" };

/** Owners of a key: the hold "first" of 10 credits, in each state. */
const OWNERS = {
  none: () => undefined,
  open: () => undefined,
  captured: (ledger: LedgerUnderTest) => ledger.capture("first", 7n),
  released: (ledger: LedgerUnderTest) => ledger.release("first"),
  "released after its answer was kept": (ledger: LedgerUnderTest) => {
    ledger.keep("first", 7n);
    ledger.release("first");
  },
} as const;
type Owner = keyof typeof OWNERS;

const FINISHED = ["claim_finished", "claim_mismatch"] as const;
const FREE = ["done", "done"] as const;
/** Answers to the same and to another fingerprint: at once, and 24 h later. */
const TABLE: Record<Owner, readonly [readonly [string, string], readonly [string, string]]> = {
  none: [FREE, FREE],
  open: [
    ["claim_in_progress", "claim_mismatch"],
    ["claim_in_progress", "claim_mismatch"],
  ],
  captured: [FINISHED, FREE],
  released: [FREE, FREE],
  "released after its answer was kept": [FINISHED, FREE],
};

function ledgerWith(owner: Owner): LedgerUnderTest {
  const ledger = new LedgerUnderTest().open(100n);
  if (owner !== "none") ledger.place("first", 10n, { claim: SAME });
  OWNERS[owner](ledger);
  return ledger;
}

function judge(ledger: LedgerUnderTest, claim = SAME, budgetId = KEY): Outcome {
  const facts = present(ledger.facts.get(ACCOUNT));
  for (;;) {
    const judged = judgeClaim(ledger.account, { budgetId, claim }, facts, ledger.now);
    if (!("missing" in judged)) return judged.outcome;
    supply(facts, judged.missing);
  }
}

function check(ledger: LedgerUnderTest, claimKey: string | undefined, credits = 0n): Outcome {
  const facts = present(ledger.facts.get(ACCOUNT));
  for (;;) {
    const checked = checkSpender(ledger.account, { budgetId: KEY, claimKey, credits }, facts, ledger.now);
    if (!("missing" in checked)) return checked.outcome;
    supply(facts, checked.missing);
  }
}

describe.each(Object.keys(OWNERS) as Owner[])("a key whose hold is %s", (owner) => {
  const [atOnce, later] = TABLE[owner];

  test.each([
    [0, atOnce],
    [CLAIM_LIFETIME_MS - 1, atOnce],
    [CLAIM_LIFETIME_MS, later],
  ])("is answered %s ms after its claim as the table says", (ms, [same, other]) => {
    for (const [claim, code] of [
      [SAME, same],
      [OTHER, other],
    ] as const) {
      const ledger = ledgerWith(owner);
      ledger.now += ms;
      const judged = judge(ledger, claim);
      const placed = ledger.place("second", 10n, { claim });
      expect(placed.code).toBe(code);
      expect(judged).toEqual(placed);
      if (code === "claim_finished") expect(placed.earlierHoldId).toBe("first");
    }
  });
});

describe("a claim", () => {
  test("of a repeated place is its own", () => {
    const ledger = ledgerWith("open");
    expect(ledger.place("first", 10n, { claim: SAME })).toEqual({ code: "done" });
  });

  test("passes to the place that got the free key", () => {
    const ledger = ledgerWith("released");
    ledger.place("second", 10n, { claim: OTHER });
    expect(ledger.place("third", 10n, { claim: OTHER }).code).toBe("claim_in_progress");
    ledger.capture("second", 1n);
    expect(ledger.place("third", 10n, { claim: OTHER })).toEqual({
      code: "claim_finished",
      earlierHoldId: "second",
    });
    expect(ledger.place("third", 10n, { claim: SAME }).code).toBe("claim_mismatch");
  });

  test("stays with its owner if a place is refused", () => {
    const ledger = ledgerWith("released");
    expect(ledger.place("second", 101n, { claim: OTHER }).code).toBe("insufficient_credits");
    expect(ledger.place("third", 1n, { claim: SAME }).code).toBe("done");
    expect(ledger.account.held).toBe(1n);
  });

  test("is answered after the spender, and before the money", () => {
    const ledger = ledgerWith("captured");
    ledger.credit(-93n, "adjustment");
    expect(ledger.place("second", 10n, { claim: SAME }).code).toBe("claim_finished");
    expect(check(ledger, SAME.key, 10n).code).toBe("done");
    expect(check(ledger, "free key", 10n).code).toBe("insufficient_credits");
    expect(check(ledger, undefined, 10n).code).toBe("insufficient_credits");
    ledger.put({ ...ledger.budget().definition, active: false });
    expect(ledger.place("second", 10n, { claim: SAME }).code).toBe("spender_inactive");
    expect(judge(ledger).code).toBe("spender_inactive");
    expect(check(ledger, SAME.key, 10n).code).toBe("spender_inactive");
  });

  test("of another key is answered if the own limit has room for it, without open holds", () => {
    const ledger = ledgerWith("captured");
    ledger.put(budget("other", { limit: 10n }));
    ledger.place("beside", 5n, { budgetId: "other" });
    const place = { budgetId: "other", claim: SAME };
    expect(ledger.place("second", 10n, place).code).toBe("claim_finished");
    expect(judge(ledger, SAME, "other").code).toBe("claim_finished");
    ledger.capture("beside", 1n);
    expect(ledger.place("second", 10n, place)).toMatchObject({
      code: "spend_limit_exceeded",
      refusal: { inFlight: false },
    });
    expect(judge(ledger, SAME, "other").code).toBe("spend_limit_exceeded");
    expect(ledger.place("third", 9n, place).code).toBe("claim_finished");
    ledger.put({ ...ledger.budget().definition, limit: 0n });
    expect(ledger.place("own", 10n, { claim: SAME }).code).toBe("claim_finished");
  });

  test("of a request to a free model counts once against the free limit", () => {
    const ledger = new LedgerUnderTest().open(0n);
    ledger.freeLimit = 1;
    ledger.place("first", 0n, { claim: SAME });
    ledger.capture("first", 0n);
    expect(ledger.place("second", 0n, { claim: SAME }).code).toBe("claim_finished");
    expect(ledger.place("third", 0n).code).toBe("free_limit_exceeded");
  });

  test("of a hold that the ledger deleted is free", () => {
    const ledger = new LedgerUnderTest().open(10n);
    present(ledger.facts.get(ACCOUNT)).claims.set(SAME.key, {
      fingerprint: "x",
      holdId: "gone",
      claimedAt: 0,
    });
    expect(ledger.place("first", 1n, { claim: SAME }).code).toBe("done");
  });

  test("of a running request is in progress for each key, without regard to money", () => {
    const ledger = ledgerWith("open");
    ledger.put(budget("other", { limit: 5n }));
    const place = { budgetId: "other", claim: SAME };
    expect(ledger.place("second", 10n, place)).toEqual({ code: "claim_in_progress" });
    expect(judge(ledger, SAME, "other")).toEqual({ code: "claim_in_progress" });
    expect(ledger.place("second", 10n, { ...place, claim: OTHER })).toEqual({ code: "claim_mismatch" });
  });

  test("that the facts do not have is asked for, and then its hold", () => {
    const ledger = ledgerWith("captured");
    const place = {
      kind: "place",
      accountId: ACCOUNT,
      budgetId: KEY,
      credits: 1n,
      tag: TAG,
      deadlineAt: 0,
    } as const;
    const claims = new Map<string, ClaimRecord | null>();
    const facts = { absentHolds: new Set<string>(), claims };
    const ask = () => [
      decide(
        ledger.accounts,
        [{ ...place, holdId: "second", claim: SAME }],
        new Map([[ACCOUNT, facts]]),
        ledger.terms,
      ),
      judgeClaim(ledger.account, { budgetId: KEY, claim: SAME }, facts, ledger.now),
      checkSpender(ledger.account, { budgetId: KEY, claimKey: SAME.key, credits: 1_000n }, facts, ledger.now),
    ];
    const needs = (missing: object) => [{ missing, accountId: ACCOUNT }, { missing }, { missing }];
    expect(ask()).toEqual(needs({ claim: SAME.key }));
    claims.set(SAME.key, { fingerprint: SAME.fingerprint, holdId: "forgotten", claimedAt: ledger.now });
    expect(ask()).toEqual(needs({ hold: "forgotten" }));
    claims.set(SAME.key, { fingerprint: SAME.fingerprint, holdId: "first", claimedAt: ledger.now });
    expect(ask()).toMatchObject([
      { outcomes: [{ code: "claim_finished" }] },
      { outcome: { code: "claim_finished" } },
      { outcome: { code: "done" } },
    ]);
  });

  test("is judged by the time of the account, also if the clock goes back", () => {
    const ledger = ledgerWith("captured");
    ledger.now += CLAIM_LIFETIME_MS;
    ledger.credit(1n);
    ledger.now -= 1;
    expect(judge(ledger).code).toBe("done");
    ledger.put({ ...ledger.budget().definition, expiresAt: ledger.now + 1 });
    expect(check(ledger, undefined).code).toBe("spender_expired");
  });

  test("of two places in one batch goes to the first", () => {
    const ledger = new LedgerUnderTest().open(100n);
    const place = {
      kind: "place",
      accountId: ACCOUNT,
      budgetId: KEY,
      credits: 1n,
      tag: TAG,
      deadlineAt: 0,
    } as const;
    const { outcomes } = ledger.decide([
      { ...place, holdId: "one", claim: SAME },
      { ...place, holdId: "two", claim: SAME },
      { kind: "capture", accountId: ACCOUNT, holdId: "one", charge: 1n, cost: 0n },
      { ...place, holdId: "three", claim: SAME },
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual(["done", "claim_in_progress", "done", "claim_finished"]);
  });

  test("is of one account: a person's key in two accounts is two keys, also in one batch", () => {
    const ledger = new LedgerUnderTest(ACCOUNT, "account-2");
    const place = (accountId: string, holdId: string) =>
      ({
        kind: "place",
        accountId,
        budgetId: accountId,
        holdId,
        credits: 1n,
        tag: TAG,
        deadlineAt: 0,
        claim: SAME,
      }) as const;
    const { outcomes } = ledger.decide([
      ...[ACCOUNT, "account-2"].flatMap((accountId) => [
        { kind: "open", accountId } as const,
        { kind: "deposit", accountId, id: `of ${accountId}`, credits: 10n } as const,
        { kind: "budget", accountId, definition: budget(accountId) } as const,
      ]),
      place(ACCOUNT, "one"),
      place("account-2", "two"),
      place(ACCOUNT, "three"),
      place("account-2", "four"),
    ]);
    expect(outcomes.slice(6).map(({ code }) => code)).toEqual([
      "done",
      "done",
      "claim_in_progress",
      "claim_in_progress",
    ]);
  });
});
