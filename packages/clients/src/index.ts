// The clients of services that other services call: batched billing, and the log of text requests. Further clients are the
// records of the log, the live copy of the catalogue, and reports of the health of routes.
export {
  type Billing,
  type CaptureRequest,
  type Claim,
  createBilling,
  type ExtendRequest,
  type HoldName,
  type KeptAnswer,
  type LeasedHold,
  MOST_KEPT_BYTES,
  type NextAttemptRequest,
  type PlaceRequest,
  ReleaseReason,
} from "./billing.ts";
export { type CatalogCopy, createCatalogCopy } from "./catalog-copy.ts";
export {
  explainedRecord,
  GENERATION_KIND,
  GENERATION_STATUS,
  nameOf,
  type PriceVersions,
  requestRecord,
} from "./request-record.ts";
export {
  type AttemptResult,
  createRouteHealth,
  RouteCondition,
  type RouteHealth,
  type RouteStateInit,
} from "./route-health.ts";
export {
  createSavedTexts,
  MOST_SAVED_BYTES,
  type SavedTextInput,
  type SavedTexts,
  savedTextJson,
} from "./saved-texts.ts";
export {
  periodNameOf,
  SPEND_PERIOD_NAMES,
  SPEND_PERIODS,
  type SpendPeriodName,
  spendPeriodOf,
} from "./spend-periods.ts";
export { sidesOf, usdOf } from "./statement-amounts.ts";
export {
  createTextLog,
  TextApi,
  type TextLineInit,
  type TextLog,
  type TextLogEvents,
} from "./text-log.ts";
