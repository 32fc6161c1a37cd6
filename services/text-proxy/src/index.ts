// The module, for whoever composes processes.
export { BYTES_PER_BODY_BYTE, inputBudgetOf } from "./input-budget.ts";
export { textProxyModule } from "./module.ts";
