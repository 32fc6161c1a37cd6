// Properties of random chains: the invariants of each step, replay, undo, batches, and the answers of a second opinion.

import { isDeepStrictEqual } from "node:util";
import { byDepth } from "@gr/testing/depth";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Account, newAccount } from "./account.ts";
import { apply, replayHold, takeBack } from "./apply.ts";
import { answerOf, withoutClaim } from "./test/compared-answers.ts";
import { ACCOUNT, LedgerUnderTest, present } from "./test/ledger-under-test.ts";
import { NaiveLedger } from "./test/naive-ledger.ts";
import { type RandomLedger, randomLedger } from "./test/random-operations.ts";
import { StepChecker } from "./test/step-checker.ts";

const RUNS = byDepth({ quick: 200, deep: 5_000 });

function openLedger({ tree }: RandomLedger): LedgerUnderTest {
  const ledger = new LedgerUnderTest();
  ledger.freeLimit = 3;
  ledger.run({ kind: "open", accountId: ACCOUNT });
  ledger.credit(60n);
  for (const definition of tree) ledger.put(definition);
  return ledger;
}

/** The same ledger at the same moment, which shares nothing with this one. */
function copyOf({ account, facts, now, freeLimit }: LedgerUnderTest): LedgerUnderTest {
  const copy = new LedgerUnderTest();
  Object.assign(copy.account, structuredClone(account));
  const [from, to] = [present(facts.get(ACCOUNT)), present(copy.facts.get(ACCOUNT))];
  for (const id of from.absentHolds) to.absentHolds.add(id);
  for (const [key, record] of from.claims) to.claims.set(key, record);
  return Object.assign(copy, { now, freeLimit });
}

function replayed({ steps }: LedgerUnderTest): Account {
  const account = newAccount(ACCOUNT);
  for (const step of steps) apply(account, step);
  return account;
}

test("each step keeps the invariants, and the stored steps alone make the same state", () => {
  const kinds = new Set<string>();
  const property = fc.property(randomLedger, (random) => {
    const ledger = openLedger(random);
    for (const { ms, operations } of random.batches) {
      ledger.now += ms;
      ledger.decide(operations);
    }
    const checker = new StepChecker();
    for (const step of ledger.steps) {
      checker.take(step);
      kinds.add(step.kind);
    }
    expect(isDeepStrictEqual(replayed(ledger), ledger.account)).toBe(true);
    const { open, ended } = ledger.account;
    for (const hold of [...open.values(), ...ended.values()]) {
      const own = ledger.steps.filter(({ id }) => id === hold.id);
      expect(isDeepStrictEqual(replayHold(own), hold)).toBe(true);
      expect(replayHold(own.slice(1))).toBeUndefined();
    }
  });
  fc.assert(property, { numRuns: RUNS });
  expect([...kinds].sort()).toEqual([
    ...["abandon", "adjustment", "budget", "capture", "deposit", "extend", "keep", "late", "lease"],
    ...["next", "open", "place", "refund", "release", "suspend"],
  ]);
});

test("a decision that is taken back leaves no trace, and is decided again alike", () => {
  const property = fc.property(randomLedger, (random) => {
    const ledger = openLedger(random);
    for (const { ms, operations } of random.batches) {
      ledger.now += ms;
      const before = copyOf(ledger);
      const first = ledger.decide(operations);
      const { length } = ledger.steps;
      takeBack(first.undo);
      ledger.steps.length = length - first.steps.length;
      expect(isDeepStrictEqual(ledger.account, before.account)).toBe(true);
      const claims = [ledger, before].map(
        ({ facts }) =>
          new Map([...present(facts.get(ACCOUNT)).claims].filter(([, record]) => record !== null)),
      );
      expect(isDeepStrictEqual(claims[0], claims[1])).toBe(true);
      const again = ledger.decide(operations);
      expect(isDeepStrictEqual([again.outcomes, again.steps], [first.outcomes, first.steps])).toBe(true);
    }
  });
  fc.assert(property, { numRuns: RUNS / 2 });
});

test("a batch has the outcomes and steps of its operations one by one", () => {
  const property = fc.property(randomLedger, (random) => {
    const ledger = openLedger(random);
    for (const { ms, operations } of random.batches) {
      ledger.now += ms;
      const alone = copyOf(ledger);
      const { outcomes, steps } = ledger.decide(operations);
      expect(
        isDeepStrictEqual(
          operations.map((each) => alone.run(each)),
          outcomes,
        ),
      ).toBe(true);
      expect(isDeepStrictEqual(alone.steps, steps)).toBe(true);
    }
  });
  fc.assert(property, { numRuns: RUNS / 2 });
});

test("the answers are those of a second opinion, which adds up all holds for each question", () => {
  const seen = new Set<string>();
  const property = fc.property(randomLedger, (random) => {
    const ledger = openLedger(random);
    ledger.freeLimit = null;
    const naive = new NaiveLedger();
    naive.take({ kind: "deposit", accountId: ACCOUNT, id: "first", credits: 60n }, 0);
    for (const definition of random.tree) naive.take({ kind: "budget", accountId: ACCOUNT, definition }, 0);
    for (const { ms, operations } of random.batches) {
      ledger.now += ms;
      for (const operation of operations.map(withoutClaim)) {
        const right = naive.take(operation, Math.max(ledger.now, ledger.account.at));
        const answer = answerOf(ledger.run(operation));
        if (right === undefined) continue;
        expect(answer).toEqual({ budget: undefined, inFlight: undefined, held: undefined, ...right });
        seen.add(`${operation.kind} ${answer.code} ${answer.inFlight ?? ""}`);
      }
    }
  });
  fc.assert(property, { numRuns: RUNS * 2 });
  for (const kind of ["place", "extend"]) {
    for (const code of ["insufficient_credits", "spend_limit_exceeded"]) {
      expect(seen).toContain(`${kind} ${code} true`);
      expect(seen).toContain(`${kind} ${code} false`);
    }
    for (const code of ["budget_closed", "spender_inactive", "spender_expired"])
      expect(seen).toContain(`${kind} ${code} false`);
  }
});

test("a step that does not follow is refused, and so is a second end of a hold", () => {
  const ledger = new LedgerUnderTest().open(10n);
  ledger.place("hold", 5n);
  const account = replayed(ledger);
  const other = newAccount("another account");
  ledger.capture("hold", 5n);
  const end = present(ledger.steps.at(-1));
  expect(() => apply(other, end)).toThrow("does not follow");
  expect(() => apply(account, { ...end, seq: end.seq + 1 })).toThrow("does not follow");
  apply(account, end);
  expect(() => apply(account, end)).toThrow("does not follow");
  for (const kind of ["capture", "release", "abandon"] as const) {
    expect(() => apply(account, { ...end, kind, seq: end.seq + 1 })).toThrow("not open");
  }
});

test("a place without its deadline or tag is refused", () => {
  const ledger = new LedgerUnderTest().open(10n);
  ledger.place("hold", 5n);
  const place = present(ledger.steps.pop());
  for (const absent of [{ tag: null }, { deadlineAt: null }]) {
    const account = replayed(ledger);
    expect(() => apply(account, { ...place, ...absent })).toThrow("no complete hold");
    expect(account).toMatchObject({ seq: 3, held: 0n });
  }
});

test("a late cost of a hold that the state forgot is applied", () => {
  const ledger = new LedgerUnderTest().open(10n);
  ledger.place("hold", 5n);
  ledger.capture("hold", 5n, 1n);
  ledger.release("hold", 9n);
  const account = newAccount(ACCOUNT);
  for (const step of ledger.steps) {
    apply(account, step);
    account.ended.clear();
  }
  expect(account).toMatchObject({ seq: ledger.account.seq, debited: 5n });
});
