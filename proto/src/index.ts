// The contract between services: error reasons and the error that carries them. Messages and services are
// imported from the subpaths (@gr/proto/billing …), so that each file names the contract that it speaks.
export { errorRow, errorTable, isReason, type Reason } from "./error-table.ts";
export { fromConnectError, ServiceError, type ServiceErrorOptions, toConnectError } from "./service-error.ts";
export { spendLimitChange, spendLimitChangeOf, spendLimitFields, spendLimitOf } from "./spend-limit.ts";
