// Random operations on one account with a tree of six budgets, few enough ids that most operations meet an earlier one.
import fc from "fast-check";
import type { BudgetDefinition } from "../budget.ts";
import type { Operation } from "../operation.ts";
import { DAY_MS, PERIODS } from "../window.ts";
import { ACCOUNT, budget, HOUR, TAG, THURSDAY } from "./ledger-under-test.ts";

/** Budget n of a tree can be below one of the budgets before it. */
const BUDGETS = ["b0", "b1", "b2", "b3", "b4", "b5"] as const;
const HOLDS = 10;

export interface Batch {
  /** Change of the clock before the batch. It can be negative. */
  readonly ms: number;
  readonly operations: readonly Operation[];
}

export interface RandomLedger {
  readonly tree: readonly BudgetDefinition[];
  readonly batches: readonly Batch[];
}

const credits = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 12n }), fc.bigInt({ min: 1n, max: 60n }));
const cost = fc.bigInt({ min: 0n, max: 5n });
const holdId = fc.nat({ max: HOLDS - 1 }).map((no) => `hold ${no}`);
const limit = fc.option(fc.bigInt({ min: 0n, max: 90n }), { nil: null });
const period = fc.constantFrom(...PERIODS);
const most = fc.option(fc.bigInt({ min: 0n, max: 40n }), { nil: undefined });
const instant = fc.integer({ min: -2, max: 40 }).map((days) => THURSDAY + days * DAY_MS);
const expiresAt = fc.option(instant, { nil: null, freq: 6 });
const active = fc.constantFrom(true, true, true, false);
const claim = fc.option(
  fc.record({ key: fc.constantFrom("k1", "k2"), fingerprint: fc.constantFrom("same", "same", "other") }),
  { nil: undefined },
);

const LEVELS = ["account", "member", "key", "job"] as const;

/**
 * Budget n with its parent: below the deepest budgets too, so chains of four levels are frequent. A root of a lower level can get a
 * parent later; a budget below a job is refused.
 */
const tree = fc
  .tuple(
    ...BUDGETS.map((_, no) =>
      fc.record({
        parent: fc.integer({ min: -1, max: no - 1 }),
        depth: fc.constantFrom(0, 0, 1, 2),
        limit,
        period,
      }),
    ),
  )
  .map((fields) => {
    const depths: number[] = [];
    return fields.map(({ parent, depth, ...rest }, no) => {
      const above = parent < 0 ? undefined : Math.max(parent, Math.min(no - 1, 2));
      depths.push(above === undefined ? depth : Math.min((depths[above] ?? 0) + 1, LEVELS.length - 1));
      const parentId = above === undefined ? null : `b${above}`;
      return budget(`b${no}`, { ...rest, parentId, level: LEVELS[depths[no] ?? 0] ?? "job" });
    });
  });

const onHold = { accountId: fc.constant(ACCOUNT), holdId };

const place = fc
  .record({
    ...onHold,
    budgetId: fc.constantFrom(...BUDGETS),
    memberId: fc.option(fc.constantFrom(...BUDGETS), { nil: undefined, freq: 1 }),
    credits,
    more: most,
    claim,
    deadlineAt: instant,
  })
  .map(
    ({ more, ...fields }): Operation => ({
      kind: "place",
      ...{ ...fields, tag: TAG, most: more === undefined ? undefined : fields.credits + more },
    }),
  );
const extend = fc
  .record({
    ...onHold,
    credits,
    more: most,
    deadlineAt: instant,
  })
  .map(
    ({ more, ...fields }): Operation => ({
      kind: "extend",
      ...{ ...fields, most: more === undefined ? undefined : fields.credits + more },
    }),
  );
const next = fc
  .record({
    ...onHold,
    attempt: fc.constantFrom(2, 2, 3, 4),
    cost,
    deadlineAt: instant,
    billedBy: fc.constantFrom(undefined, "first"),
  })
  .map(
    (fields): Operation => ({
      kind: "next",
      provider: `provider-${fields.attempt}`,
      upstreamModel: "m",
      ...fields,
    }),
  );
const capture = fc
  .record({
    ...onHold,
    charge: credits,
    cost,
  })
  .map((fields): Operation => ({ kind: "capture", ...fields }));
const release = fc
  .record({
    ...onHold,
    cost,
    unresolved: fc.boolean(),
    provider: fc.constantFrom(undefined, "first", "provider-2"),
  })
  .map((fields): Operation => ({ kind: "release", ...fields }));
const lease = fc
  .record({
    ...onHold,
    until: instant,
  })
  .map((fields): Operation => ({ kind: "lease", ...fields }));
const keep = fc
  .record({
    ...onHold,
    charge: credits,
    cost,
  })
  .map((fields): Operation => ({ kind: "keep", ...fields }));

const credit = fc
  .record({
    kind: fc.constantFrom("deposit" as const, "deposit" as const, "refund" as const, "adjustment" as const),
    credits: fc.bigInt({ min: 1n, max: 60n }),
    isLess: fc.boolean(),
  })
  .map(({ kind, credits: amount, isLess }): Operation => {
    const sign = kind === "refund" || (kind === "adjustment" && isLess) ? -1n : 1n;
    return { kind, accountId: ACCOUNT, id: "money", credits: sign * amount };
  });
const suspend = fc
  .constantFrom(true, false, false)
  .map((suspended): Operation => ({ kind: "suspend", accountId: ACCOUNT, suspended }));

/** Half of the changes name a parent, which a root can get and no other budget can change, or none. */
const changeOf = (definitions: readonly BudgetDefinition[]) =>
  fc
    .record({
      definition: fc.constantFrom(...definitions),
      change: fc.oneof(
        fc.record({ limit }),
        fc.record({ period }),
        fc.record({ active }),
        fc.record({ expiresAt }),
        fc.record({ limit, period, parentId: fc.constantFrom("b0", "b1") }),
      ),
      parentId: fc.constantFrom(undefined, undefined, "b0", "b1", null),
      revision: fc.constantFrom(0n, 2n, 20n),
    })
    .map(({ definition, change, parentId, revision }): Operation => {
      const { id: budgetId } = definition;
      if (parentId === undefined) return { kind: "budget_change", accountId: ACCOUNT, budgetId, change };
      const put = { ...definition, ...change, parentId, revision };
      return { kind: "budget", accountId: ACCOUNT, definition: put };
    });

const likely = <Value>(weight: number, arbitrary: fc.Arbitrary<Value>) => ({ weight, arbitrary });

export const randomLedger: fc.Arbitrary<RandomLedger> = tree.chain((definitions) =>
  fc.record({
    tree: fc.constant(definitions),
    batches: fc.array(
      fc.record({
        ms: fc.constantFrom(0, 0, 0, 1, HOUR, 12 * HOUR, DAY_MS, 8 * DAY_MS, 32 * DAY_MS, -HOUR, -2 * DAY_MS),
        operations: fc.array(
          fc.oneof(
            likely(8, place),
            likely(5, capture),
            likely(3, release),
            likely(5, extend),
            likely(2, next),
            likely(4, changeOf(definitions)),
            likely(2, credit),
            likely(1, lease),
            likely(1, keep),
            likely(1, suspend),
          ),
          { minLength: 1, maxLength: 6 },
        ),
      }),
      { minLength: 1, maxLength: 25, size: "max" },
    ),
  }),
);
