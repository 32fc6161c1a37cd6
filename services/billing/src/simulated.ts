// Parts of billing that the simulation runs over its own tables, and the rig of billing in tests.
// No program imports this door.
export type { Column } from "./chain/binary-rows.ts";
export { ChainConnection, type ChainOptions } from "./chain/chain-connection.ts";
export { type ChainOperation, runsOf } from "./chain/chain-operation.ts";
export { CLAIM_COLUMNS, KEPT_ANSWER_COLUMNS } from "./chain/claim-store.ts";
export { encodeSteps } from "./chain/encode-steps.ts";
export type { StateRow } from "./chain/state-store.ts";
export { STEP_COLUMNS } from "./chain/step-columns.ts";
export { readStep, type StepRow } from "./chain/step-row.ts";
export { prepareForFlushes, type RowTypes, writeFlush } from "./chain/step-store.ts";
export { billingRpc } from "./rpc/rpc.ts";
export { createStepLedger, type StepLedger } from "./step-ledger/step-ledger.ts";
export { migratedDatabase } from "./test/migrated-database.ts";
export { UsedUpBudgets } from "./windows-copy/used-up-budgets.ts";
