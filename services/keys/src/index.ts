// The keys module owns accounts and API keys, and resolves secrets.
export { keysModule } from "./module.ts";
