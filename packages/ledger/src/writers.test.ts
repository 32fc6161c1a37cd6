// Histories of three writers of one account, each with a memory and a clock of its own: budgets are trees, windows turn, and writers
// decide at the same time. The chain accepts the step with the next number alone, so the others undo, replay and decide again.
import { isDeepStrictEqual } from "node:util";
import { byDepth } from "@gr/testing/depth";
import { afterAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { newAccount } from "./account.ts";
import { apply, takeBack } from "./apply.ts";
import type { Decision } from "./decide.ts";
import type { Operation } from "./operation.ts";
import type { Step } from "./step.ts";
import { answerOf, withoutClaim } from "./test/compared-answers.ts";
import { ACCOUNT, HOUR, LedgerUnderTest, present } from "./test/ledger-under-test.ts";
import { NaiveLedger } from "./test/naive-ledger.ts";
import { randomLedger } from "./test/random-operations.ts";
import { StepChecker } from "./test/step-checker.ts";

/** `WRITER_HISTORIES=100000 npm run test:deep -- packages/ledger/src/writers` plays more. */
const ALL_HISTORIES = Number(process.env["WRITER_HISTORIES"] ?? byDepth({ quick: 300, deep: 20_000 }));
const HISTORIES = Math.min(ALL_HISTORIES, 5_000);
/** Histories are cut into slices, each with a seed of its own. */
const SLICES = Math.ceil(ALL_HISTORIES / HISTORIES);
const WRITERS = 3;
const PATIENCE_MS = 1_800_000;

const turn = fc.record({
  writer: fc.nat({ max: WRITERS - 1 }),
  /** The writer decides before the batch in front of it is stored. */
  isAtOnce: fc.boolean(),
});

const history = fc.record({
  random: randomLedger,
  turns: fc.array(turn, { minLength: 40, maxLength: 40 }),
  /** Milliseconds by which each clock is wrong. */
  errors: fc.array(fc.constantFrom(0, 0, 600_000, -600_000, -3 * HOUR), {
    minLength: WRITERS,
    maxLength: WRITERS,
  }),
});

const counts = { histories: 0, steps: 0, races: 0, turns: 0, answers: new Map<string, number>() };
afterAll(() => {
  const { histories, steps, races, turns } = counts;
  process.stdout.write(
    `writers: ${histories} histories, ${steps} steps, ${races} lost races, ${turns} windows turned\n`,
  );
});

class Chain {
  readonly steps: Step[] = [];
  readonly #naive = new NaiveLedger();

  /** Stores the steps of a decision, or nothing if memory was old. @returns whether the answers are final */
  store(writer: LedgerUnderTest, operations: readonly Operation[], { outcomes, steps }: Decision): boolean {
    const [first] = steps;
    const latest = this.steps.length;
    if (first === undefined ? writer.account.seq !== latest : first.seq !== latest + 1) return false;
    const at = Math.max(writer.now, this.steps.at(-1)?.at ?? 0);
    this.steps.push(...steps);
    for (const [index, operation] of operations.entries()) {
      const right = this.#naive.take(operation, at);
      const answer = answerOf(present(outcomes[index]));
      counts.answers.set(answer.code, (counts.answers.get(answer.code) ?? 0) + 1);
      if (right !== undefined)
        expect(answer).toEqual({ budget: undefined, inFlight: undefined, held: undefined, ...right });
    }
    return true;
  }

  catchUp({ account }: LedgerUnderTest): void {
    for (const step of this.steps.slice(account.seq)) apply(account, step);
  }
}

interface Attempt {
  readonly writer: LedgerUnderTest;
  readonly operations: readonly Operation[];
  readonly decision: Decision;
}

function storeAll(chain: Chain, attempts: readonly Attempt[]): void {
  for (const { writer, operations, decision: first } of attempts) {
    for (let decision = first; !chain.store(writer, operations, decision); counts.races += 1) {
      takeBack(decision.undo);
      chain.catchUp(writer);
      decision = writer.decide(operations);
    }
  }
}

function play({ random, turns, errors }: typeof history extends fc.Arbitrary<infer H> ? H : never): void {
  const chain = new Chain();
  const writers = errors.map(() => new LedgerUnderTest());
  const [opener] = writers;
  const opening: Operation[] = [
    { kind: "open", accountId: ACCOUNT },
    { kind: "deposit", accountId: ACCOUNT, id: "first", credits: 60n },
    ...random.tree.map((definition): Operation => ({ kind: "budget", accountId: ACCOUNT, definition })),
  ];
  const begin = (writer: LedgerUnderTest, operations: readonly Operation[]): Attempt => ({
    ...{ writer, operations, decision: writer.decide(operations) },
  });
  storeAll(chain, [begin(present(opener), opening)]);
  let now = present(opener).now;
  let waiting: Attempt[] = [];
  for (const [index, { ms, operations }] of random.batches.entries()) {
    now += ms;
    const { writer: number, isAtOnce } = present(turns[index]);
    const writer = present(writers[number]);
    if (!isAtOnce || waiting.some((one) => one.writer === writer)) {
      storeAll(chain, waiting);
      waiting = [];
    }
    writer.now = now + present(errors[number]);
    waiting.push(begin(writer, operations.map(withoutClaim)));
  }
  storeAll(chain, waiting);
  prove(chain, writers);
}

/** Each step keeps the invariants, and each memory is a replay of the steps. */
function prove(chain: Chain, writers: readonly LedgerUnderTest[]): void {
  const checker = new StepChecker();
  const account = newAccount(ACCOUNT);
  for (const step of chain.steps) {
    checker.take(step);
    apply(account, step);
  }
  for (const writer of writers) {
    chain.catchUp(writer);
    expect(isDeepStrictEqual(writer.account, account)).toBe(true);
  }
  counts.histories += 1;
  counts.steps += chain.steps.length;
  for (const { window } of account.budgets) counts.turns += window - 1;
}

describe("three writers of one account", () => {
  test.each(Array.from({ length: SLICES }, (_, slice) => slice))(
    "answer and store as one writer that is asked in the order of the chain: slice %i",
    (slice) => {
      const { seed = 0 } = fc.readConfigureGlobal();
      fc.assert(fc.property(history, play), { numRuns: HISTORIES, seed: seed + slice });
    },
    PATIENCE_MS,
  );

  test("met each other, each refusal, and the end of windows", () => {
    expect(counts.races).toBeGreaterThan(HISTORIES);
    expect(counts.turns).toBeGreaterThan(HISTORIES);
    for (const code of [
      "done",
      "insufficient_credits",
      "spend_limit_exceeded",
      "budget_closed",
      "spender_expired",
    ])
      expect(counts.answers.get(code) ?? 0).toBeGreaterThan(0);
  });
});
