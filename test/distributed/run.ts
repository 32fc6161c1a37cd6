// `npm run test:distributed` runs the tests of money on a ledger that Citus distributes: a coordinator and two workers, one of which is
// killed, and whose shards are moved under load. `-- --if-changed` compares the covered files with verified.json and starts nothing;
// `-- --figures` measures pairs on one PostgreSQL and on Citus.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { CITUS_NODES } from "@gr/testing";
import { ROOT } from "../../scripts/tool.ts";
import { coveredFiles } from "../cluster/verified.ts";
import { findCitus } from "./citus.ts";
import { printFigures } from "./figures.ts";
import { startNodes } from "./nodes.ts";
import { COVERED, compare, lastVerified, recordRun } from "./verified.ts";

const BILLING = "services/billing/src";
/** One after another: each file has a database of its own on all servers. */
const TESTS = [
  `${BILLING}/chain/chain-connection.test.ts`,
  `${BILLING}/chain/chain-crash.test.ts`,
  `${BILLING}/follower/follower.test.ts`,
  `${BILLING}/shards/shards.test.ts`,
  `${BILLING}/holds/holds.test.ts`,
  `${BILLING}/claims/claims.test.ts`,
  `${BILLING}/claims/answers.test.ts`,
  `${BILLING}/accounts/accounts.test.ts`,
  `${BILLING}/reads/reads.test.ts`,
  `${BILLING}/writer/concurrency.test.ts`,
  `${BILLING}/writer/spend-window.test.ts`,
  `${BILLING}/seals/seal-months.test.ts`,
  `${BILLING}/statements/statement.test.ts`,
  `${BILLING}/budgets/budgets.test.ts`,
  `${BILLING}/activity/activity.test.ts`,
  `${BILLING}/reports/reports.test.ts`,
  `${BILLING}/saved-texts/saved-texts.test.ts`,
  `${BILLING}/text-log/text-log.test.ts`,
];
const SCRIPT = fileURLToPath(new URL("../../scripts/test.ts", import.meta.url));

const words = process.argv.slice(2);
const chosen = words.filter((word) => !word.startsWith("--"));
const before = await coveredFiles(ROOT, COVERED);
if (words.includes("--if-changed")) {
  const { isSame, sentence } = compare(before.digest, await lastVerified());
  process.stdout.write(`${sentence}\n`);
  process.exitCode = isSame ? 0 : 1;
} else {
  const citus = await findCitus();
  if (typeof citus === "string") {
    process.stderr.write(`FAILED  ${citus}\n`);
    process.exitCode = 1;
  } else if (words.includes("--figures")) {
    await printFigures(citus);
  } else {
    const nodes = await startNodes(citus, 2);
    const told = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => told.abort());
    try {
      const tests = chosen.length > 0 ? chosen : TESTS;
      const run = spawn(process.execPath, [SCRIPT, "--maxWorkers=1", ...tests], {
        stdio: "inherit",
        env: { ...process.env, [CITUS_NODES]: JSON.stringify(nodes.urls) },
        signal: told.signal,
        killSignal: "SIGTERM",
      });
      const [code] = (await once(run, "exit")) as [number | null];
      process.exitCode = code ?? 1;
      if (code === 0 && chosen.length === 0) process.stdout.write(`${await recordRun(before, citus)}\n`);
    } finally {
      await nodes.stop();
    }
  }
}
