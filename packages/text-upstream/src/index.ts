// The text upstreams: the catalogue lists their models, the text proxy calls them, and both must mean the same.
export type { Bound, FieldFound, FieldRefusal, FieldRow } from "./price-fields/field-row.ts";
export {
  CLIENT_TOOL_TYPES,
  FEE_TOOL_TYPES,
  FIELD_ROWS,
  SHAPING_FIELDS,
  SPECIAL_FIELDS,
  TOKEN_FIELDS,
} from "./price-fields/field-rows.ts";
export { findFields, MOST_FIELDS } from "./price-fields/find-fields.ts";
export {
  type FieldsAt,
  type PricedEffects,
  type PriceTerms,
  priceTermsOf,
} from "./price-fields/price-terms.ts";
export { withoutUnshown } from "./shown-name.ts";
export type {
  DailyHours,
  OffPeakRates,
  TextModel,
  TextPriceCase,
  TextPrices,
  TextRates,
} from "./text-model.ts";
export {
  type Continues,
  type PriceSource,
  type TextUpstream,
  textUpstreamConfig,
  textUpstreamsOf,
} from "./text-upstream-config.ts";
export type {
  AmountReader,
  JsonObject,
  KindName,
  ListedName,
  ReportedCost,
  SkipReason,
  UpstreamKind,
} from "./upstream-kind.ts";
export { UPSTREAM_KINDS } from "./upstream-kinds.ts";
