// What a run says: how often each case came, how fast it was, and for a history that broke an invariant the way to see
// it again.
import type { Mutant } from "./mutants.ts";
import type { Broken } from "./run-slice.ts";
import type { Coverage } from "./world/coverage.ts";

const TEST = "simulation/simulation.test.ts";

export function describeCoverage({ histories, events, counts }: Coverage, ms: number): string {
  const perSecond = Math.round((histories / ms) * 1_000);
  const lines = Object.entries(counts).map(
    ([name, count]) => `  ${name.padEnd(46)}${String(count).padStart(10)}`,
  );
  return [`${histories} histories, ${events} events, ${perSecond} histories a second`, ...lines, ""].join(
    "\n",
  );
}

export function describeFailure(seed: number, trace: readonly string[], broken: Broken | undefined): string {
  const ending = broken?.message ?? "no violation";
  return [`seed ${seed}:`, ...trace, "", ending, "", `SIMULATION_SEED=${seed} npm test -- ${TEST}`].join(
    "\n",
  );
}

/** @param noticed by mutant: who noticed, and when */
export function describeMutants(noticed: ReadonlyMap<Mutant, string>): string {
  const lines = [...noticed].map(([{ what }, by]) => `  ${by.padEnd(24)}  ${what}`);
  return ["noticed by, what was wrong", ...lines, ""].join("\n");
}
