// The keys module: accounts, API keys, and who a secret belongs to.
export { keysModule } from "./module.ts";
