// The module, for launchers that compose processes.
export { BYTES_PER_BODY_BYTE, inputBudgetOf } from "./input-budget.ts";
export { textProxyModule } from "./module.ts";
