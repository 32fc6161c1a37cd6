// jest's sequencer orders test files by duration. jest measures the duration of the last run, and estimates by size on
// a fresh clone. But the longest tests are short files. So those run first, and no worker ends alone with one of them.
const { existsSync } = require("node:fs");
const path = require("node:path");
const { default: TestSequencer } = require("@jest/test-sequencer");

const ROOT = path.join(__dirname, "..", "..");
/** Files that need the most time in each form, longest first: more than 20 s of all, or more than a minute of deep tests. */
const LONGEST = {
  quick: [
    "apps/console/src/test/all-pages.test.tsx",
    "test/abuse/abuse.test.ts",
    "services/media-generation/src/faults.test.ts",
    "packages/embedded/src/postgres/postgres-server.test.ts",
    "services/media-generation/src/takeover.test.ts",
    "test/guides/samples.test.ts",
    "test/prices/bills.test.ts",
    "services/billing/src/writer/server-trouble.test.ts",
    "test/simulation/simulation.test.ts",
    "test/e2e/start.test.ts",
  ],
  deep: [
    "test/simulation/mutants.deep.test.ts",
    "test/abuse/abuse.deep.test.ts",
    "packages/ledger/src/writers.test.ts",
    "services/billing/src/chain/chain-crash.test.ts",
    "test/simulation/simulation.test.ts",
    "test/chaos/video-crash-points.deep.test.ts",
    "test/console/screens.deep.test.ts",
    "services/billing/src/writer/history.test.ts",
    "test/contract/described-requests.deep.test.ts",
    "test/upgrade/upgrade.deep.test.ts",
    "services/text-proxy/src/memory.deep.test.ts",
    "services/billing/src/budgets/many-budgets.deep.test.ts",
    "test/fuzz/fuzz.deep.test.ts",
    "test/abuse/abuse.test.ts",
    "test/chaos/cap.deep.test.ts",
    "services/billing/src/before-steps/carry.test.ts",
    "test/console/walk.deep.test.ts",
    "services/text-proxy/src/answer/every-cut.test.ts",
    "test/chaos/stop.deep.test.ts",
    "services/billing/src/writer/rolling-restarts.deep.test.ts",
    "services/media-generation/src/crash.deep.test.ts",
    "test/upgrade/rotation.deep.test.ts",
    "test/chaos/text-crash-points.deep.test.ts",
    "test/abuse/failing-caller.deep.test.ts",
  ],
};

const gone = Object.values(LONGEST)
  .flat()
  .filter((file) => !existsSync(path.join(ROOT, file)));
if (gone.length > 0)
  throw new Error(`scripts/jest/longest-first.cjs names what is not there: ${gone.join(", ")}`);
const longest = LONGEST[process.env.TEST_DEPTH] ?? LONGEST.quick;
const PLACES = new Map(longest.map((file, index) => [path.join(ROOT, file), index]));

module.exports = class LongestFirst extends TestSequencer {
  /** @param {import("@jest/test-result").Test[]} tests */
  async sort(tests) {
    const place = ({ path: file }) => PLACES.get(file) ?? longest.length;
    return (await super.sort(tests)).sort((one, other) => place(one) - place(other));
  }
};
