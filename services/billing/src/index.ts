// The billing module: credits, holds and the ledger.
export { billingModule } from "./module.ts";
