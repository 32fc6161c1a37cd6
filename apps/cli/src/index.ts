// The operator's command line as a function, for the command itself and for tests.
export { type CliIo, runCli } from "./run-cli.ts";
