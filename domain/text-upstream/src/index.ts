// The text upstreams: the catalogue lists their models, the text proxy calls them, and both must mean the same.
export { withoutUnshown } from "./shown-name.ts";
export type { TextModel, TextPriceCase, TextPrices, TextRates } from "./text-model.ts";
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
