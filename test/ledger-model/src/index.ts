// What billing should do, as a model, and a billing service on that model for the tests of other modules. The tests of
// billing hold both equal to the real one.
export type { ModelAnswer, ModelClaim } from "./claim-model.ts";
export { type BillingCall, FakeBilling, type FakeBillingOptions } from "./fake-billing.ts";
export type { FakeHold } from "./fake-ledger.ts";
export { type Period, type SpenderFields, windowEnd, windowStart } from "./hold-model.ts";
export { LedgerModel, type LedgerOperation, type LedgerOutcome } from "./ledger-model.ts";
export { outcomeMessage } from "./outcome-message.ts";
