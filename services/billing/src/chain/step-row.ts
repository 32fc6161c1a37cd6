// Step row owns the way back: a row of the table as a step, with the values that its writer applied.
import { type BudgetAfter, STEP_KINDS, type Step, type StepKind } from "@gr/ledger";
import { readDetail } from "./state-text.ts";

type Level = 1 | 2 | 3 | 4;
type Numbers = { readonly [Name in `budget${Level}` | `window${Level}`]: number | null };
type Amounts = { readonly [Name in `used${Level}` | `held${Level}`]: bigint | null };

/** A row as the driver returns it; 64-bit integers are bigint. */
export interface StepRow extends Numbers, Amounts {
  readonly account_id: string;
  readonly id: string;
  readonly seq: bigint;
  readonly at: bigint;
  readonly credits: bigint;
  readonly charge: bigint;
  readonly cost: bigint;
  readonly place_seq: bigint | null;
  readonly deadline_at: bigint | null;
  readonly credited: bigint;
  readonly debited: bigint;
  readonly held: bigint;
  readonly attempt: number;
  readonly kind: number;
  readonly billed_by: string | null;
  readonly service: string | null;
  readonly provider: string | null;
  readonly upstream_model: string | null;
  readonly model: string | null;
  readonly price_version: string | null;
  readonly claim: Buffer | null;
  readonly detail: string | null;
}

const KINDS = new Map<number, StepKind>(
  Object.entries(STEP_KINDS).map(([kind, number]) => [number, kind as StepKind]),
);

/** @throws RangeError for a kind of a later version */
export function readStep(row: StepRow): Step {
  const kind = KINDS.get(row.kind);
  if (kind === undefined) {
    throw new RangeError(`Step ${row.seq} of account ${row.account_id} has the unknown kind ${row.kind}.`);
  }
  return {
    kind,
    accountId: row.account_id,
    seq: Number(row.seq),
    at: Number(row.at),
    id: row.id,
    credits: row.credits,
    charge: row.charge,
    cost: row.cost,
    billedBy: row.billed_by,
    attempt: row.attempt,
    placeSeq: row.place_seq === null ? null : Number(row.place_seq),
    deadlineAt: row.deadline_at === null ? null : Number(row.deadline_at),
    credited: row.credited,
    debited: row.debited,
    held: row.held,
    budgets: [
      ...budgetAfter(row.budget1, row.window1, row.used1, row.held1),
      ...budgetAfter(row.budget2, row.window2, row.used2, row.held2),
      ...budgetAfter(row.budget3, row.window3, row.used3, row.held3),
      ...budgetAfter(row.budget4, row.window4, row.used4, row.held4),
    ],
    tag: tagOf(row),
    claim: row.claim === null ? null : { key: row.claim.toString("hex"), fingerprint: "" },
    detail: row.detail === null ? null : readDetail(row.detail),
  };
}

function budgetAfter(
  budget: number | null,
  window: number | null,
  used: bigint | null,
  held: bigint | null,
): BudgetAfter[] {
  if (budget === null || window === null || used === null || held === null) return [];
  return [{ budget, window, used, held }];
}

function tagOf(row: StepRow): Step["tag"] {
  const { service, provider, upstream_model: upstreamModel, model, price_version: priceVersion } = row;
  if (
    service === null ||
    provider === null ||
    upstreamModel === null ||
    model === null ||
    priceVersion === null
  ) {
    return null;
  }
  return { service, provider, upstreamModel, model, priceVersion };
}
