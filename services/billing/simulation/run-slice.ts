// A worker thread that runs the histories of some seeds and says what it has covered, and which seed broke an invariant.
// Outside of jest's sandbox, in which every look at a global costs time, they run more than twice as fast.
import { parentPort, workerData } from "node:worker_threads";
import { Coverage } from "./coverage.ts";
import { runHistory } from "./history.ts";

export interface Slice {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

export interface SliceResult {
  readonly histories: number;
  readonly events: number;
  readonly counts: Coverage["counts"];
  /** The first seed that broke an invariant. */
  readonly broken: number | undefined;
}

function run({ first, end }: Slice): SliceResult {
  const coverage = new Coverage();
  for (let seed = first; seed < end; seed += 1) {
    const { error } = runHistory(seed, undefined, coverage);
    if (error !== undefined) return { ...coverage, broken: seed };
  }
  return { ...coverage, broken: undefined };
}

parentPort?.postMessage(run(workerData as Slice));
