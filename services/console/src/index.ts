// The console module: people, their sessions, and what an account is shown of its keys and its money.
export { consoleModule } from "./module.ts";
