// Copies of random accounts with trees of budgets. Read from its text, a copy refuses for money as the whole account does.
import {
  type Account,
  DAY_MS,
  decide,
  type Id,
  newAccount,
  type Operation,
  type Outcome,
  PERIODS,
  takeBack,
} from "@gr/ledger";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { budget, place } from "../test/chain/chain-rig.ts";
import { THURSDAY } from "../test/start-billing.ts";
import { CopySigner, nameOf } from "./copy-text.ts";
import { copyOf, isUsedUp } from "./window-copy.ts";

const ACCOUNT = "0a000000-0000-4000-8000-00000000000a";
const LEVELS = ["account", "member", "key", "job"] as const;
const IDS = LEVELS.map((_, no) => `0b000000-0000-4000-8000-00000000000${no}`);
const signer = new CopySigner("a secret of all processes of an installation");

const limit = fc.option(fc.bigInt({ min: 0n, max: 60n }), { nil: null });
const tree = fc.array(fc.record({ limit, period: fc.constantFrom(...PERIODS) }), {
  minLength: 4,
  maxLength: 4,
});
const turn = fc.oneof(
  fc.record({
    kind: fc.constant("spend" as const),
    level: fc.nat({ max: 3 }),
    credits: fc.bigInt({ min: 1n, max: 40n }),
  }),
  fc.record({
    kind: fc.constant("hold" as const),
    level: fc.nat({ max: 3 }),
    credits: fc.bigInt({ min: 1n, max: 40n }),
  }),
  fc.record({ kind: fc.constant("wait" as const), days: fc.constantFrom(0, 1, 8, 32) }),
  fc.record({ kind: fc.constant("limit" as const), level: fc.nat({ max: 3 }), limit }),
  fc.record({ kind: fc.constant("credit" as const), credits: fc.bigInt({ min: -60n, max: 60n }) }),
);

class World {
  readonly account: Account = newAccount(ACCOUNT);
  now = THURSDAY;

  decide(account: Account, ...operations: Operation[]): Outcome[] {
    const absentHolds = new Set(operations.flatMap((one) => ("holdId" in one ? [one.holdId] : [])));
    const facts = new Map([[ACCOUNT, { absentHolds, claims: new Map() }]]);
    const decided = decide(new Map([[ACCOUNT, account]]), operations, facts, {
      now: this.now,
      freeLimit: null,
    });
    if ("missing" in decided) throw new Error("The decision needs a fact.");
    return [...decided.outcomes];
  }

  /** Returns the outcome of a place without placing. */
  ask(account: Account, budgetId: Id, credits: bigint): Outcome | undefined {
    const facts = new Map([[ACCOUNT, { absentHolds: new Set<Id>(), claims: new Map() }]]);
    const operations = [place({ accountId: ACCOUNT, budgetId }, credits)];
    const decided = decide(new Map([[ACCOUNT, account]]), operations, facts, {
      now: this.now,
      freeLimit: null,
    });
    if ("missing" in decided) throw new Error("A place needs no fact.");
    takeBack(decided.undo);
    return decided.outcomes[0];
  }
}

const isHopeless = (outcome: Outcome | undefined) =>
  (outcome?.code === "insufficient_credits" || outcome?.code === "spend_limit_exceeded") &&
  outcome.refusal?.inFlight === false;

test("a copy refuses what the account refuses, with the same words, and nothing else", () => {
  let refused = 0;
  let usedUp = 0;
  const property = fc.property(
    tree,
    fc.array(turn, { maxLength: 20 }),
    fc.bigInt({ min: 1n, max: 50n }),
    (budgets, turns, credits) => {
      const world = new World();
      const { account } = world;
      const definitions = budgets.map((fields, no) => ({
        ...{ level: LEVELS[no] ?? "job", parentId: IDS[no - 1] ?? null, ...fields },
      }));
      const put = (no: number, revision: bigint) =>
        world.decide(
          account,
          budget({ accountId: ACCOUNT, budgetId: IDS[no] ?? "" }, { ...definitions[no], revision }),
        );
      world.decide(account, { kind: "open", accountId: ACCOUNT });
      world.decide(account, { kind: "deposit", accountId: ACCOUNT, id: "first", credits: 100n });
      for (const no of definitions.keys()) put(no, 1n);
      for (const [index, one] of turns.entries()) {
        if (one.kind === "wait") world.now += one.days * DAY_MS;
        else if (one.kind === "credit") {
          world.decide(account, {
            kind: "adjustment",
            accountId: ACCOUNT,
            id: `${index}`,
            credits: one.credits,
          });
        } else if (one.kind === "limit") {
          Object.assign(definitions[one.level] ?? {}, { limit: one.limit });
          put(one.level, BigInt(index) + 2n);
        } else {
          const hold = place({ accountId: ACCOUNT, budgetId: IDS[one.level] ?? "" }, one.credits);
          const [placed] = world.decide(account, hold);
          if (one.kind === "spend" && placed?.code === "done") {
            world.decide(account, {
              kind: "capture",
              accountId: ACCOUNT,
              holdId: hold.holdId,
              charge: one.credits,
              cost: 0n,
            });
          }
        }
        for (const id of IDS) {
          const copy = copyOf(account, id);
          const read = signer.read(nameOf(copy), signer.textOf(copy));
          if (read === undefined) throw new Error("The text of a copy is no copy.");
          const [whole, copied] = [world.ask(account, id, credits), world.ask(read.account, id, credits)];
          expect(isHopeless(copied)).toBe(isHopeless(whole));
          if (isHopeless(whole)) {
            expect(copied).toEqual(whole);
            refused += 1;
          }
          const isFull = isHopeless(world.ask(account, id, 1n));
          expect(isUsedUp(read, world.now)).toBe(isFull);
          if (isFull) usedUp += 1;
        }
      }
    },
  );
  fc.assert(property, { numRuns: 200 });
  expect(refused).toBeGreaterThan(usedUp);
  expect(usedUp).toBeGreaterThan(0);
});
