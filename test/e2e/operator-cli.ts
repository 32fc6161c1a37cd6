// The operator's command line on the data directory of a running router. Each command runs in the process of its test: a process for each
// would need half a second of a processor.
import { type CliOutcome, runWith } from "@gr/cli/simulated";

export type Cli = (...args: string[]) => Promise<CliOutcome>;

export function cliOf(dataDir: string): Cli {
  return (...args) => runWith({ DATA_DIR: dataDir }, ...args);
}
