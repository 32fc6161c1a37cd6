// The life of a request that costs money, for every service that serves such requests, and for their simulation.

export { SEARCH_PAUSES, type SearchPauses } from "./bill-search.ts";
export { claimOf, notReplayable } from "./claim.ts";
export { chargeOfParts, costOfParts } from "./continuation.ts";
export { GrowingHold, type GrowingHoldOptions } from "./growing-hold.ts";
export { holdConfig } from "./hold-config.ts";
export { HoldRecord } from "./hold-record.ts";
export { type Closing, type Cover, countByProvider, LOSS_COOL_DOWN_MS, LossBreaker } from "./loss-breaker.ts";
export { losingRoutes, lossCalls } from "./loss-calls.ts";
export { BILLED_WITHOUT_ANSWER, UNRESOLVED } from "./lost-request.ts";
export {
  MAX_COST_HEADER,
  maxCostOf,
  type Quoted,
  quoteRecord,
  quoteSchema,
  refuseAmountNames,
  requireWithin,
} from "./max-cost.ts";
export type { PaidRequestSettings, PaidRequestsOptions } from "./options.ts";
export type { Bill, Captured, Ending, Order, Released, Route } from "./order.ts";
export { rulesOfPaidBodies } from "./paid-bodies.ts";
export { type Answered, type Begun, PaidRequests, type Served } from "./paid-requests.ts";
export type {
  AttemptContext,
  AttemptEnd,
  Broken,
  Delivered,
  Due,
  Extension,
  Failed,
  FoundBill,
  HoldTrace,
  Kinds,
  LookUp,
  LookUpResult,
  Lost,
  PaidRequestEvents,
  Producer,
  RequestRecord,
  Unknown,
} from "./ports.ts";
