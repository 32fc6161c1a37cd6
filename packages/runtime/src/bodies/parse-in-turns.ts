// ParseInTurns parses long JSON in steps that share the loop with all other work of the process.
import type { FairWork } from "./fair-gate.ts";
import { LoopTurns } from "./loop-turns.ts";
import { type LongStrings, type ParsedJson, parseInSlices } from "./parse-in-slices.ts";

/** All steps of this process with long bodies: its loop is one. */
export const loopTurns = new LoopTurns();
/** Bytes up to which JSON.parse needs a few milliseconds at most. */
export const LONG_JSON = 256 * 1024;
/** Share of the loop that a slice of the parser counts as, in bytes. */
const PARSED_SLICE = 256 * 1024;

/** @param json valid UTF-8 that json-guard.ts has accepted. @throws SyntaxError; the signal's reason */
export async function parseInTurns(
  json: Buffer,
  work: FairWork,
  longStrings: LongStrings = "whole",
): Promise<ParsedJson> {
  const slices = parseInSlices(json, longStrings);
  for (;;) {
    const slice = await loopTurns.step({ ...work, cost: PARSED_SLICE }, () => slices.next());
    if (slice.done === true) return slice.value;
  }
}
