// Parts of billing that the simulation builds over its own ledger, and the rig of billing in tests.
// No program imports this door.
export { type Deposit, depositEntry } from "./accounts/deposit.ts";
export type { Spender } from "./accounts/spender.ts";
export type { ClaimingSpender } from "./claims/claims.ts";
export type { Hold, HoldStore, Lease } from "./holds/hold.ts";
export { invalid } from "./rpc/field-rules.ts";
export { messageOfPeriod } from "./rpc/message-names.ts";
export { billingRpc } from "./rpc/rpc.ts";
export { lostCost } from "./test/ledger-store.ts";
export { type BillingUnderTest, startBilling } from "./test/start-billing.ts";
export * as wallet from "./test/wallet.ts";
export { LedgerWriter } from "./writer/ledger-writer.ts";
export type { Operation } from "./writer/operation.ts";
export { NO_REFUSAL, type Posted } from "./writer/posted.ts";
