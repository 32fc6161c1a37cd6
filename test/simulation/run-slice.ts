// A worker thread that runs the histories of some seeds, one slice after the other, and says what each has covered and
// which seed broke an invariant. Production code runs here as it is in production, outside of jest's sandbox.
import { setImmediate as nextTurn } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import { runHistory } from "./history.ts";
import { Coverage } from "./world/coverage.ts";
import { Violation } from "./world/violation.ts";

/** Histories up to the first that breaks an invariant. */
export interface Slice {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
  /** Whether to write down what happens, which costs much time. */
  readonly tracing?: boolean;
}

export interface SliceResult {
  readonly histories: number;
  readonly events: number;
  readonly counts: Coverage["counts"];
  readonly broken: Broken | undefined;
  /** Of the last history, when it was asked for. */
  readonly trace: readonly string[];
}

export interface Broken {
  readonly seed: number;
  /** Undefined when the simulation, or the code in it, has failed in another way. */
  readonly invariant: string | undefined;
  readonly message: string;
}

/** Frames of a stack, where somebody reads them. */
const STACK_TRACE_LIMIT = 30;

async function run({ first, end, tracing = false }: Slice): Promise<SliceResult> {
  // Histories are full of errors that production code throws and catches, and to write down where takes long.
  Error.stackTraceLimit = tracing ? STACK_TRACE_LIMIT : 0;
  const coverage = new Coverage();
  let trace: readonly string[] = [];
  for (let seed = first; seed < end; seed += 1) {
    const history = await runHistory(seed, coverage, tracing);
    // What is collected of signals that nobody has any more is put away by the event loop.
    await nextTurn();
    const { error } = history;
    trace = history.trace;
    if (error === undefined) continue;
    const invariant = error instanceof Violation ? error.invariant : undefined;
    const message = (tracing ? error.stack : undefined) ?? error.message;
    return { ...coverage, broken: { seed, invariant, message }, trace };
  }
  return { ...coverage, broken: undefined, trace };
}

parentPort?.on("message", async (slice: Slice) => parentPort?.postMessage(await run(slice)));
