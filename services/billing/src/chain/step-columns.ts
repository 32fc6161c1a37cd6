// Step columns own the shape of the composite type `step_in`: its columns in order, and their values of a step.
import { type BudgetAfter, MAX_LEVELS, STEP_KINDS, type Step } from "@gr/ledger";
import { columnsOf, type Value } from "./binary-rows.ts";
import { bucketOf } from "./bucket.ts";
import { detailText } from "./state-text.ts";

const AMOUNTS = ["used1", "held1", "used2", "held2", "used3", "held3", "used4", "held4"] as const;
const WINDOWS = [
  ...["budget1", "window1", "budget2", "window2"],
  ...["budget3", "window3", "budget4", "window4"],
] as const;

/** The first columns have a fixed size: an encoder writes them into a copy of an earlier row. */
export const STEP_COLUMNS = columnsOf([
  ["uuid", ["account_id", "id"]],
  ["int8", ["seq", "at", "credits", "charge", "cost", "place_seq", "deadline_at"]],
  ["int8", ["credited", "debited", "held", ...AMOUNTS]],
  ["int4", ["bucket", ...WINDOWS, "attempt"]],
  ["int2", ["kind"]],
  ["text", ["billed_by", "service", "provider", "upstream_model", "model", "price_version"]],
  ["bytea", ["claim"]],
  ["text", ["detail"]],
]);

/** Index of each column. */
export const AT: Readonly<Record<string, number>> = Object.fromEntries(
  STEP_COLUMNS.map(({ name }, index) => [name, index]),
);

export function valuesOf(step: Step): Value[] {
  const { tag, budgets } = step;
  return [
    ...[step.accountId, step.id],
    ...[step.seq, step.at, step.credits, step.charge, step.cost, step.placeSeq, step.deadlineAt],
    ...[step.credited, step.debited, step.held],
    ...eachLevel(budgets, ({ used, held }) => [used, held]),
    bucketOf(step.accountId),
    ...eachLevel(budgets, ({ budget, window }) => [budget, window]),
    step.attempt,
    STEP_KINDS[step.kind],
    step.billedBy,
    ...(tag === null
      ? [null, null, null, null, null]
      : [tag.service, tag.provider, tag.upstreamModel, tag.model, tag.priceVersion]),
    step.claim === null ? null : Buffer.from(step.claim.key, "hex"),
    step.detail === null ? null : detailText(step.detail),
  ];
}

function eachLevel(budgets: readonly BudgetAfter[], pair: (after: BudgetAfter) => [Value, Value]): Value[] {
  return Array.from({ length: MAX_LEVELS }, (_, level) => {
    const after = budgets[level];
    return after === undefined ? [null, null] : pair(after);
  }).flat();
}
