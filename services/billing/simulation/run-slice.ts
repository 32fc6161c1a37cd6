// A worker thread that runs the histories of some seeds, one slice after the other, and says what each has covered and
// which seed broke an invariant. Outside of jest's sandbox, in which every look at a global costs time, they run more
// than twice as fast.
import { parentPort } from "node:worker_threads";
import { Coverage } from "./coverage.ts";
import type { Flaw } from "./flaws.ts";
import { runHistory } from "./history.ts";
import { Violation } from "./violation.ts";

/** Histories up to the first that breaks an invariant. */
export interface Slice {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
  readonly flaw: Flaw | undefined;
}

export interface SliceResult {
  readonly histories: number;
  readonly events: number;
  readonly counts: Coverage["counts"];
  readonly broken: Broken | undefined;
}

export interface Broken {
  readonly seed: number;
  /** Undefined when the simulation itself has failed. */
  readonly invariant: string | undefined;
}

function run({ first, end, flaw }: Slice): SliceResult {
  const coverage = new Coverage();
  for (let seed = first; seed < end; seed += 1) {
    const { error } = runHistory(seed, flaw, coverage);
    if (error === undefined) continue;
    const invariant = error instanceof Violation ? error.invariant : undefined;
    return { ...coverage, broken: { seed, invariant } };
  }
  return { ...coverage, broken: undefined };
}

parentPort?.on("message", (slice: Slice) => parentPort?.postMessage(run(slice)));
