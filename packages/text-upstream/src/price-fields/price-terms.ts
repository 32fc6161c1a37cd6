// Price terms are the effects of a request on the price at one upstream.
// An effect without a price there refuses the request before anything is held or sent.
import type { KindName, UpstreamKind } from "../upstream-kind.ts";
import type { Bound, FieldFound, FieldRefusal, FieldRow, Priced } from "./field-row.ts";
import { FIELD_ROWS } from "./field-rows.ts";

/** Priced effects of a model at one upstream. */
export interface PricedEffects {
  /** @param tier as the request writes it */
  hasTier(tier: string): boolean;
  hasTool(call: string): boolean;
  hasMeter(meter: Extract<Priced, { as: "meter" }>["meter"]): boolean;
}

export interface PriceTerms {
  /** The service tier that the request asks for, as the price list names it; empty = the standard tier. */
  readonly tier: string;
  /** Fees that the answer can have, by their names in the price list. */
  readonly calls: ReadonlySet<string>;
  /** Cache writes are kept for longer than usual. */
  readonly longCache: boolean;
  readonly bounds: ReadonlySet<Bound>;
}

export interface FieldsAt {
  readonly kind: UpstreamKind;
  /** False: nothing that the upstream does is billed to us. */
  readonly billed: boolean;
  readonly passUnknownFields?: boolean | undefined;
}

/** Terms of most requests. */
const USUAL_TERMS: PriceTerms = { tier: "", calls: new Set(), longCache: false, bounds: new Set() };

export function priceTermsOf(
  fields: readonly FieldFound[],
  { kind, billed, passUnknownFields = false }: FieldsAt,
  prices: PricedEffects,
): PriceTerms | { readonly refused: FieldRefusal } {
  let tier = "";
  let longCache = false;
  let calls: Set<string> | undefined;
  let bounds: Set<Bound> | undefined;
  if (kind.name === "openai" && !fields.some(({ field }) => field === "service_tier"))
    bounds = new Set(["standard_tier"]);
  for (const found of fields) {
    const treatment = rowFor(found, kind.name)?.treatment;
    if (treatment === undefined) {
      if (!mayPass(found, kind, billed, passUnknownFields)) return { refused: unknown(found) };
    } else if (treatment.kind === "refused") {
      if (billed) return { refused: { param: found.param, problem: treatment.remedy } };
    } else if (treatment.kind === "bounded") bounds = (bounds ?? new Set()).add(treatment.by);
    else if (treatment.kind === "priced") {
      const { by } = treatment;
      if (billed && !isPriced(by, found, prices)) return { refused: unpriced(by, found) };
      if (by.as === "tier" || by.as === "fixed_tier") {
        const asked = by.as === "tier" ? found.value : by.tier;
        if (tier !== "" && tier !== asked && billed) return { refused: twoTiers(found, tier) };
        tier = asked;
      }
      if (by.as === "tool") calls = (calls ?? new Set()).add(by.call);
      else if (by.as === "meter" && by.meter === "long_cache_write") longCache = true;
    }
  }
  if (tier === "" && !longCache && calls === undefined && bounds === undefined) return USUAL_TERMS;
  return { tier, calls: calls ?? USUAL_TERMS.calls, longCache, bounds: bounds ?? USUAL_TERMS.bounds };
}

function isPriced(by: Priced, { value }: FieldFound, prices: PricedEffects): boolean {
  if (by.as === "tier") return prices.hasTier(value);
  if (by.as === "fixed_tier") return prices.hasTier(by.tier);
  if (by.as === "tool") return prices.hasTool(by.call);
  return by.as === "meter" ? prices.hasMeter(by.meter) : true;
}

/**
 * Returns true if a field without a row may pass. Nested fields are found by name only, so one without a row has no
 * documented effect.
 */
function mayPass(
  found: FieldFound,
  kind: UpstreamKind,
  billed: boolean,
  passUnknownFields: boolean,
): boolean {
  if (!billed || passUnknownFields || kind.reportsCost) return true;
  return found.field.startsWith("provider.");
}

function unknown({ param }: FieldFound): FieldRefusal {
  const remedy = "leave it out, or have the operator set pass_unknown_fields of the upstream";
  return { param, problem: `is unknown, and so is its effect on the price; ${remedy}` };
}

/** Refuses two tiers: providers multiply them, and no price list contains the product. */
function twoTiers({ param }: FieldFound, tier: string): FieldRefusal {
  return {
    param,
    problem: `cannot be combined with the tier "${tier}", which the request asks for, too; leave out either`,
  };
}

function unpriced(by: Priced, { param, value }: FieldFound): FieldRefusal {
  const asked = value === "" ? "" : ` "${value}"`;
  const effect =
    by.as === "tool"
      ? `asks for calls that the model has no price for (${by.call})`
      : by.as === "meter"
        ? `asks for${asked || " something"}, for which the model has no price (${by.meter})`
        : `asks for the service tier${asked}, for which the model has no price`;
  return { param, problem: `${effect}; leave it out, or use a model whose price has it` };
}

const BY_FIELD = new Map<string, FieldRow[]>();
for (const row of FIELD_ROWS) {
  const known = BY_FIELD.get(row.field);
  if (known === undefined) BY_FIELD.set(row.field, [row]);
  else known.push(row);
}

export function rowFor(
  { field, value }: Pick<FieldFound, "field" | "value">,
  kind: KindName,
): FieldRow | undefined {
  return BY_FIELD.get(field)?.find(
    ({ kinds, values }) =>
      (kinds === undefined || kinds.includes(kind)) &&
      (values === undefined || values.some((each) => matches(each, value))),
  );
}

function matches(pattern: string, value: string): boolean {
  return pattern.endsWith("*") ? value.startsWith(pattern.slice(0, -1)) : pattern === value;
}
