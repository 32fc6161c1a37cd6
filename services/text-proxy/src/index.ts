// The module, for whoever composes processes.
export { textProxyModule } from "./module.ts";
