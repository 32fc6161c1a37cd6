// jest's sequencer orders test files by duration. jest measures the duration of the last run, and estimates by size on
// a fresh clone. But the longest tests are short files. So those run first, and no worker ends alone with one of them.
const { existsSync } = require("node:fs");
const path = require("node:path");
const { default: TestSequencer } = require("@jest/test-sequencer");

const ROOT = path.join(__dirname, "..", "..");
/** Files that need minutes, longest first. */
const LONGEST = [
  "test/simulation/mutants.deep.test.ts",
  "test/simulation/simulation.test.ts",
  "test/chaos/video-crash-points.deep.test.ts",
  "services/text-proxy/src/answer/every-cut.test.ts",
  "test/fuzz/fuzz.deep.test.ts",
  "services/media-generation/src/crash.deep.test.ts",
  "test/chaos/stop.deep.test.ts",
  "test/prices/bills.test.ts",
  "test/abuse/abuse.test.ts",
  "test/abuse/abuse.deep.test.ts",
  "services/media-generation/src/faults.test.ts",
  "services/media-generation/src/takeover.test.ts",
  "test/chaos/text-crash-points.deep.test.ts",
  "test/console/walk.deep.test.ts",
  "test/chaos/revocation.deep.test.ts",
  "test/e2e/start.test.ts",
  "test/chaos/failover.deep.test.ts",
  "test/chaos/restore.deep.test.ts",
  "test/chaos/kill-services.deep.test.ts",
];

const gone = LONGEST.filter((file) => !existsSync(path.join(ROOT, file)));
if (gone.length > 0)
  throw new Error(`scripts/jest/longest-first.cjs names what is not there: ${gone.join(", ")}`);
const PLACES = new Map(LONGEST.map((file, index) => [path.join(ROOT, file), index]));

module.exports = class LongestFirst extends TestSequencer {
  /** @param {import("@jest/test-result").Test[]} tests */
  async sort(tests) {
    const place = ({ path: file }) => PLACES.get(file) ?? LONGEST.length;
    return (await super.sort(tests)).sort((one, other) => place(one) - place(other));
  }
};
