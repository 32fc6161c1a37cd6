// Front door: billing in memory for the tests of other modules. Both parts decide by `@gr/ledger`, and the tests of billing
// hold them equal to the real service.
export { type BillingCall, FakeBilling, type FakeBillingOptions } from "./fake-billing.ts";
export type { FakeHold } from "./fake-ledger.ts";
export { MemoryLedger } from "./memory-ledger.ts";
export { claimOf, outcomeMessage } from "./messages.ts";
