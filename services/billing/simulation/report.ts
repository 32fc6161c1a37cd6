// What a run says: how often each case came, how fast it was, and for a history that broke an invariant the way to see
// it again.
import type { Coverage } from "./coverage.ts";
import type { Flaw } from "./flaws.ts";
import type { History } from "./history.ts";

const TEST = "services/billing/simulation/simulation.test.ts";

export function describeCoverage({ histories, events, counts }: Coverage, ms: number): string {
  const perSecond = Math.round((histories / ms) * 1_000);
  const lines = Object.entries(counts).map(
    ([name, count]) => `  ${name.padEnd(46)}${String(count).padStart(10)}`,
  );
  return [`${histories} histories, ${events} events, ${perSecond} histories a second`, ...lines, ""].join(
    "\n",
  );
}

/** @param history run with a trace */
export function describeFailure({ seed, error, trace }: History, flaw?: Flaw): string {
  const broken = flaw === undefined ? "" : ` SIMULATION_FLAW="${flaw}"`;
  const ending = error === undefined ? "no violation" : (error.stack ?? error.message);
  return [
    `seed ${seed}:`,
    ...trace,
    "",
    ending,
    "",
    `SIMULATION_SEED=${seed}${broken} npm test -- ${TEST}`,
  ].join("\n");
}

/** @param caught by flaw: the number of histories it took, and the invariant that was broken */
export function describeFlaws(caught: ReadonlyMap<Flaw, { histories: number; invariant: string }>): string {
  const lines = [...caught].map(
    ([flaw, { histories, invariant }]) =>
      `  ${flaw.padEnd(46)}${String(histories).padStart(6)}  ${invariant}`,
  );
  return ["flaw, histories until it was caught, invariant", ...lines, ""].join("\n");
}
