// Parts of billing that the simulation builds over its own ledger, and the rig of billing in tests.
// No program imports this door.
export type { AccountStore } from "./accounts/account-store.ts";
export type { AdjustmentStore } from "./accounts/adjustment-store.ts";
export { type Deposit, depositEntry } from "./accounts/deposit.ts";
export type { Spender } from "./accounts/spender.ts";
export type { AnswerStore } from "./claims/answer-store.ts";
export type { ClaimingSpender } from "./claims/claim-store.ts";
export type { Hold } from "./holds/hold.ts";
export type { HoldStore, Lease } from "./holds/hold-store.ts";
export { LocalSpendMirror } from "./mirror/local-mirror.ts";
export { MirroredWriter } from "./mirror/mirrored-writer.ts";
export {
  type AskedPlace,
  deathOf,
  type Epoch,
  forgettingAccounts,
  forgettingAdjustments,
  refusalOf,
  type SpendMirror,
  type SpendNumbers,
} from "./mirror/spend-mirror.ts";
export type { ReadSpendNumbers } from "./mirror/spend-numbers-store.ts";
export { invalid } from "./rpc/field-rules.ts";
export { messageOfPeriod } from "./rpc/message-names.ts";
export { billingRpc } from "./rpc/rpc.ts";
export { lostCost } from "./test/ledger-store.ts";
export { type BillingUnderTest, startBilling } from "./test/start-billing.ts";
export * as wallet from "./test/wallet.ts";
export { LedgerWriter } from "./writer/ledger-writer.ts";
export type { Operation } from "./writer/operation.ts";
export { NO_REFUSAL, type Posted } from "./writer/post-store.ts";
