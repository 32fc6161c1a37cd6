// `npm run cli -- <noun> <verb>`. Ends the process itself: open connections to the router would keep it alive.
import { runCli } from "./run-cli.ts";

const exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
});
process.exit(exitCode);
