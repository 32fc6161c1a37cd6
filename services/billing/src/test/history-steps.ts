// Arbitrary histories of a few accounts, spenders, holds and Idempotency-Keys. Likely steps are more frequent.
import type { Period } from "@gr/ledger";
import fc from "fast-check";
import { THURSDAY } from "./start-billing.ts";
import { providerOf } from "./wallet.ts";

export const ACCOUNTS = 2;
/** The account of each spender. */
export const OWNERS = [0, 0, 1] as const;
/** Numbers that operations name their holds by; see `Step`. */
const HOLDS = 20;
const KEYS = 2;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Idempotency-Key of a history, and the content of its request. */
export interface HistoryClaim {
  readonly key: number;
  readonly content: number;
}

/** Amounts of a kept answer. */
export interface HistoryAnswer {
  readonly credits: bigint;
  readonly cost: bigint;
}

export interface SpenderFields {
  /** Credits of one window; undefined = no limit. */
  readonly cap: bigint | undefined;
  readonly period: Period;
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined;
  readonly active: boolean;
}

type OnHold =
  | {
      readonly kind: "place";
      readonly account: number;
      readonly spender: number;
      readonly credits: bigint;
      readonly most: bigint | undefined;
      readonly provider: string;
      readonly claim: HistoryClaim | undefined;
    }
  | { readonly kind: "capture"; readonly credits: bigint; readonly cost: bigint }
  | { readonly kind: "release" | "abandon"; readonly cost: bigint; readonly provider: string | undefined }
  | { readonly kind: "extend"; readonly credits: bigint; readonly most: bigint | undefined }
  | {
      readonly kind: "next";
      readonly attempt: number;
      readonly cost: bigint;
      readonly provider: string;
      readonly billedBy: string | undefined;
    };

/**
 * The number of a hold selects one of the holds that earlier operations named, so few operations are on an unknown hold. With
 * `fresh` the operation names a new hold.
 */
export type HistoryOperation = OnHold & { readonly hold: number; readonly fresh?: boolean };

export type Step =
  | { readonly step: "post"; readonly operations: HistoryOperation[] }
  | { readonly step: "keep"; readonly hold: number; readonly answer: HistoryAnswer }
  | { readonly step: "read"; readonly account: number; readonly hold: number }
  | {
      readonly step: "judge";
      readonly account: number;
      readonly spender: number;
      readonly claim: HistoryClaim;
    }
  | {
      readonly step: "check";
      readonly account: number;
      readonly spender: number;
      readonly claim: HistoryClaim | undefined;
      readonly credits: bigint;
    }
  | { readonly step: "lease" }
  | { readonly step: "spender"; readonly index: number; readonly change: Partial<SpenderFields> }
  | { readonly step: "deposit"; readonly account: number; readonly credits: bigint; readonly refund: boolean }
  | { readonly step: "adjustment"; readonly account: number; readonly credits: bigint }
  | { readonly step: "suspend"; readonly account: number; readonly suspended: boolean }
  | { readonly step: "clock"; readonly ms: number };

const likely = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const credits = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 20n }), fc.bigInt({ min: 1n, max: 90n }));
/** How much more is taken where it is free. */
const more = fc.option(fc.bigInt({ min: 0n, max: 40n }), { nil: undefined });
const upTo = (least: bigint, more: bigint | undefined) => (more === undefined ? undefined : least + more);
const cost = fc.bigInt({ min: 0n, max: 3n });
const account = fc.nat({ max: ACCOUNTS - 1 });
const hold = fc.nat({ max: HOLDS - 1 });
const spenderIndex = fc.nat({ max: OWNERS.length - 1 });
const someClaim = fc.record({ key: fc.nat({ max: KEYS - 1 }), content: fc.constantFrom(0, 0, 0, 1) });
const claim = fc.option(someClaim, { nil: undefined, freq: 2 });
const cap = fc.option(fc.bigInt({ min: 0n, max: 120n }), { nil: undefined });
const period = fc.constantFrom<Period>("lifetime", "day", "week", "month");
const spenderFields = fc.record({
  cap,
  period,
  expiresAt: fc
    .option(fc.integer({ min: -1, max: 60 }), { nil: undefined, freq: 3 })
    .map((days) => (days === undefined ? undefined : THURSDAY + days * DAY)),
  active: fc.constantFrom(true, true, true, true, false),
});

const place = fc
  .record({
    hold,
    spender: spenderIndex,
    credits,
    more,
    claim,
    fresh: fc.constantFrom(true, true, true, true, false),
    foreign: fc.constantFrom(false, false, false, false, false, false, true),
  })
  .map(({ foreign, more, ...fields }): HistoryOperation => {
    const owner = OWNERS[fields.spender] ?? 0;
    const account = foreign ? 1 - owner : owner;
    return { kind: "place", account, provider: providerOf(1), ...fields, most: upTo(fields.credits, more) };
  });
const operation = fc.oneof(
  likely(7, place),
  likely(4, fc.record({ kind: fc.constant("capture" as const), hold, credits, cost })),
  likely(
    2,
    fc.record({
      kind: fc.constantFrom("release" as const, "abandon" as const),
      hold,
      cost,
      provider: fc.constantFrom(undefined, providerOf(1), providerOf(2)),
    }),
  ),
  likely(
    1,
    fc
      .record({ kind: fc.constant("extend" as const), hold, credits, more })
      .map(({ more, ...extend }) => ({ ...extend, most: upTo(extend.credits, more) })),
  ),
  likely(
    2,
    fc
      .record({
        ...{ kind: fc.constant("next" as const), hold, attempt: fc.constantFrom(2, 2, 2, 3, 3, 4), cost },
        billedBy: fc.constantFrom(undefined, undefined, "who made the one before"),
      })
      .map((next) => ({ ...next, provider: providerOf(next.attempt) })),
  ),
);

const post = fc
  .array(operation, { minLength: 1, maxLength: 8 })
  .map((operations): Step => ({ step: "post", operations }));
const clock = fc
  .constantFrom(1, HOUR, 12 * HOUR, DAY, 4 * DAY, 32 * DAY, -3_000, -12 * HOUR)
  .map((ms): Step => ({ step: "clock", ms }));
const spender = fc
  .record({
    index: spenderIndex,
    change: fc.oneof(spenderFields, fc.record({ cap }), fc.record({ period })),
  })
  .map((put): Step => ({ step: "spender", ...put }));
const deposit = fc
  .record({ account, credits: fc.bigInt({ min: 1n, max: 100n }), refund: fc.boolean() })
  .map((put): Step => ({ step: "deposit", ...put }));
const adjustment = fc
  .record({ account, credits: fc.bigInt({ min: -40n, max: 60n }).filter((amount) => amount !== 0n) })
  .map((put): Step => ({ step: "adjustment", ...put }));
const suspend = fc
  .record({ account, suspended: fc.constantFrom(true, false, false) })
  .map((put): Step => ({ step: "suspend", ...put }));
const keep = fc
  .record({ hold, answer: fc.record({ credits, cost }) })
  .map((put): Step => ({ step: "keep", ...put }));
const read = fc.record({ account, hold }).map((asked): Step => ({ step: "read", ...asked }));
const judge = fc
  .record({ account, spender: spenderIndex, claim: someClaim })
  .map((asked): Step => ({ step: "judge", ...asked }));
const check = fc
  .record({ account, spender: spenderIndex, claim, credits })
  .map((asked): Step => ({ step: "check", ...asked }));
const lease = fc.constant<Step>({ step: "lease" });

export const history = fc.record({
  spenders: fc.tuple(spenderFields, spenderFields, spenderFields),
  steps: fc.array(
    fc.oneof(
      likely(9, post),
      likely(2, clock),
      likely(2, spender),
      likely(1, deposit),
      likely(1, adjustment),
      likely(1, suspend),
      likely(2, keep),
      likely(1, read),
      likely(1, judge),
      likely(1, check),
      likely(1, lease),
    ),
    { minLength: 1, maxLength: 25, size: "max" },
  ),
});
