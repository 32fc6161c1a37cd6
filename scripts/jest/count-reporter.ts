// A jest reporter that prints nothing and passes the totals to scripts/test.ts, the starter of jest.
import type { JestCounts } from "../test.ts";

/** The counts of jest's AggregatedResult. */
interface RunResults {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numRuntimeErrorTestSuites: number;
}

export default class CountReporter {
  onRunComplete(_contexts: unknown, results: RunResults): void {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const counts: JestCounts = { passed: results.numPassedTests, failed };
    if (process.connected) process.send?.(counts);
  }
}
