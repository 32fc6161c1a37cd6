// A step that PostgreSQL stores and returns is the step that the writer applied, for every kind.
import { randomUUID } from "node:crypto";
import {
  type BudgetDefinition,
  CLAIM_LIFETIME_MS,
  DAY_MS,
  decide,
  newAccount,
  type Operation,
  STEP_KINDS,
  type Step,
} from "@gr/ledger";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ChainRig, claimOf, TAG } from "../test/chain/chain-rig.ts";
import { THURSDAY } from "../test/start-billing.ts";
import { encodeSteps } from "./encode-steps.ts";
import { prepareForFlushes, readTails, writeFlush } from "./step-store.ts";

const LARGEST = 2n ** 62n;

let rig: ChainRig;
beforeAll(async () => {
  rig = await ChainRig.start();
});
afterAll(() => rig.stop());

/** Names that an encoding could confuse with something else. */
const name = fc.constantFrom("plain", "5n", '{"$int":"7"}', 'a "quoted" \\ name', "Zürich 東京 🙂", "");
const credits = fc.oneof(fc.bigInt({ min: 0n, max: 50n }), fc.bigInt({ min: 0n, max: LARGEST }));
const amount = fc.bigInt({ min: 0n, max: LARGEST });
const hold = fc.nat({ max: 5 });
const time = fc.integer({ min: 0, max: 40 }).map((days) => THURSDAY + days * DAY_MS);
const tag = fc.record({
  service: fc.constantFrom("text-proxy", "media-generation"),
  provider: name,
  upstreamModel: name,
  model: name,
  priceVersion: name,
});

/** Operations by the numbers of their holds and budgets. */
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("place" as const),
      ...{ hold, credits, tag, deadlineAt: time, level: fc.nat({ max: 3 }) },
      claim: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
    }),
  },
  fc.record({ kind: fc.constant("extend" as const), hold, credits, deadlineAt: time }),
  fc.record({
    kind: fc.constant("next" as const),
    ...{ hold, cost: amount, provider: name, upstreamModel: name, deadlineAt: time },
    attempt: fc.integer({ min: 2, max: 3 }),
  }),
  fc.record({ kind: fc.constant("capture" as const), hold, charge: credits, cost: amount }),
  fc.record({ kind: fc.constant("release" as const), hold, cost: amount, unresolved: fc.boolean() }),
  fc.record({ kind: fc.constant("lease" as const), hold, until: time }),
  fc.record({ kind: fc.constant("keep" as const), hold, charge: credits, cost: amount }),
  fc.record({
    kind: fc.constantFrom("deposit" as const, "refund" as const, "adjustment" as const),
    credits: fc.bigInt({ min: -1_000n, max: 1_000n }),
  }),
  fc.record({ kind: fc.constant("suspend" as const), suspended: fc.constantFrom(true, false, false) }),
  fc.record({
    kind: fc.constant("budget" as const),
    level: fc.nat({ max: 3 }),
    ...{ name, limit: fc.option(amount), active: fc.constantFrom(true, true, false) },
    period: fc.constantFrom("lifetime" as const, "day" as const, "week" as const, "month" as const),
    expiresAt: fc.option(time, { freq: 1 }),
  }),
);
type Drawn = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

const histories = fc.array(fc.record({ operation, hours: fc.constantFrom(0, 0, 1, 30, 800) }), {
  minLength: 20,
  maxLength: 60,
});

/** Steps of a new account with a chain of four budgets. */
function stepsOf(drawn: readonly { readonly operation: Drawn; readonly hours: number }[]): Step[] {
  const accountId = randomUUID();
  const budgets = Array.from({ length: 4 }, () => randomUUID());
  const holds = Array.from({ length: 6 }, () => randomUUID());
  const account = newAccount(accountId);
  const facts = {
    absentHolds: new Set(holds),
    claims: new Map(["a", "b", "c"].map((key) => [claimOf(key).key, null])),
  };
  const definition = (level: number, fields: Partial<BudgetDefinition> = {}): Operation => ({
    kind: "budget",
    accountId,
    definition: {
      id: budgets[level] ?? "",
      parentId: level === 0 ? null : (budgets[level - 1] ?? ""),
      level: "key",
      name: "first",
      limit: null,
      period: "lifetime",
      expiresAt: null,
      active: true,
      createdAt: THURSDAY,
      revision: 9_007_199_254_740_993n,
      ...fields,
    },
  });
  let now = THURSDAY;
  const steps: Step[] = [];
  const run = (...operations: Operation[]) => {
    const decision = decide(new Map([[accountId, account]]), operations, new Map([[accountId, facts]]), {
      now,
      freeLimit: null,
    });
    if ("missing" in decision) throw new Error("The test knows all facts.");
    steps.push(...decision.steps);
  };
  run({ kind: "open", accountId }, { kind: "deposit", accountId, id: randomUUID(), credits: LARGEST });
  run(...budgets.map((_, level) => definition(level)));
  for (const { operation: drawnOperation, hours } of drawn) {
    now += (hours * CLAIM_LIFETIME_MS) / 24;
    run(operationOf(drawnOperation, { accountId, budgets, holds }, definition));
  }
  return steps;
}

function operationOf(
  drawn: Drawn,
  ids: { readonly accountId: string; readonly budgets: readonly string[]; readonly holds: readonly string[] },
  definition: (level: number, fields: Partial<BudgetDefinition>) => Operation,
): Operation {
  const { accountId, budgets, holds } = ids;
  switch (drawn.kind) {
    case "budget": {
      const { kind: _kind, level, ...fields } = drawn;
      return definition(level, fields);
    }
    case "suspend":
      return { ...drawn, accountId };
    case "deposit":
    case "refund":
    case "adjustment":
      return { ...drawn, accountId, id: randomUUID() };
    case "place": {
      const { hold: index, level, claim, ...fields } = drawn;
      const claimed = claim === undefined ? undefined : claimOf(claim);
      return {
        ...fields,
        accountId,
        holdId: holds[index] ?? "",
        budgetId: budgets[level] ?? "",
        claim: claimed,
      };
    }
    default: {
      const { hold: index, ...fields } = drawn;
      return { ...fields, accountId, holdId: holds[index] ?? "" };
    }
  }
}

/** The table of steps has no fingerprints. */
const withoutFingerprint = (step: Step): Step =>
  step.claim === null ? step : { ...step, claim: { ...step.claim, fingerprint: "" } };

test("steps of all kinds are stored and read as the writer applied them", async () => {
  const client = await rig.pool.connect();
  const seen = new Set<string>();
  try {
    const types = await prepareForFlushes(client);
    await fc.assert(
      fc.asyncProperty(histories, async (drawn) => {
        const steps = stepsOf(drawn);
        await writeFlush(client, { steps, claims: [], answers: [] }, types);
        const [first] = steps;
        const stored = await readTails(client, new Map([[first?.accountId ?? "", 0]]));
        expect(stored).toEqual(steps.map(withoutFingerprint));
        for (const { kind } of steps) seen.add(kind);
      }),
      { numRuns: 60 },
    );
  } finally {
    client.release();
  }
  // A migration alone writes a carry.
  const written = Object.keys(STEP_KINDS).filter((kind) => kind !== "carry");
  expect([...seen].sort()).toEqual(written.sort());
});

test("a number that is not whole is refused, since memory and table would differ", () => {
  const [step] = stepsOf([]);
  if (step === undefined) throw new Error("The test has a step.");
  expect(() => encodeSteps([{ ...step, at: step.at + 0.5 }], 1)).toThrow(RangeError);
  expect(() => encodeSteps([{ ...step, deadlineAt: 1.25 }], 1)).toThrow(RangeError);
});

test("the text of a tag makes a row of its own", () => {
  const [step] = stepsOf([]);
  if (step === undefined) throw new Error("The test has a step.");
  const bytes = (provider: string, upstreamModel: string) =>
    encodeSteps([{ ...step, tag: { ...TAG, provider, upstreamModel } }], 1);
  expect(bytes("ab", "c")).not.toEqual(bytes("a", "bc"));
  expect(bytes("ab", "c").includes("ab")).toBe(true);
});
