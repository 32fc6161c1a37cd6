// The console module owns people and their sessions, and shows accounts their keys and their money.
export { consoleModule } from "./module.ts";
