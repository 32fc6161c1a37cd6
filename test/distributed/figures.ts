// Figures of `npm run test:distributed -- --figures`: pairs on one PostgreSQL, and on Citus with one and two workers, one after another.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { CITUS_NODES, OWN_TEMPLATES } from "@gr/testing";
import { ROOT } from "../../scripts/tool.ts";
import type { CitusPrograms } from "./citus.ts";
import { startNodes } from "./nodes.ts";

const BENCH = join(ROOT, "services/billing/bench/distributed.ts");

/** Prints a table. */
export async function printFigures(citus: CitusPrograms): Promise<void> {
  process.stdout.write(
    "| | accounts | pairs in a flush | µs of PostgreSQL a pair | pairs a second |\n|---|--:|--:|--:|--:|\n",
  );
  for (const workers of [0, 1, 2]) {
    const nodes = await startNodes(citus, workers);
    try {
      const name = workers === 0 ? "one PostgreSQL" : `Citus, workers: ${workers}`;
      const distributed = workers === 0 ? {} : { [CITUS_NODES]: JSON.stringify(nodes.urls) };
      const [coordinator = ""] = nodes.urls;
      const env = {
        ...process.env,
        TEST_POSTGRES_URL: coordinator,
        [OWN_TEMPLATES]: `figures_${workers}_`,
        ...distributed,
      };
      const run = spawn(process.execPath, [BENCH, name, ...nodes.pids().map(String)], {
        stdio: "inherit",
        env,
      });
      const [code] = (await once(run, "exit")) as [number | null];
      if (code !== 0) throw new Error(`The figures of ${name} were not measured.`);
    } finally {
      await nodes.stop();
    }
  }
}
