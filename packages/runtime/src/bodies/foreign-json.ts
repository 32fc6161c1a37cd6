// ForeignJson parses JSON that somebody else's server sent: with the bounds of clients' bodies, and in turns when it is long.
// A field that occurs twice is accepted, as JSON.parse accepts it: the answer is paid for already, and nobody else reads it.
import { ServiceError } from "@gr/proto";
import { FairGate, type FairWork } from "./fair-gate.ts";
import { JsonGuard } from "./json-guard.ts";
import type { LongStrings } from "./parse-in-slices.ts";
import { LONG_JSON, loopTurns, parseInTurns } from "./parse-in-turns.ts";

/** Bytes; up to here no shape costs more than a millisecond, so nothing is checked. */
const SHORT_JSON = 16 * 1024;
const CHUNK = 64 * 1024;
/** Answers have more values than requests: with log probabilities seven for each candidate of a token. */
const RULES = { values: 1_000_000, repeated: "accepted" } as const;

/** The gate refuses no answer, because a provider has billed it. */
const parses = new FairGate({
  places: 2,
  perOwner: 1,
  waitingPerOwner: Number.POSITIVE_INFINITY,
  waiting: Number.POSITIVE_INFINITY,
  name: "long answers",
});

/** Parses JSON with a length that the caller limits to a few MB. @throws SyntaxError */
export function parseForeignJson(json: Buffer, encoding: "utf8" | "latin1" = "utf8"): unknown {
  if (json.length > SHORT_JSON) explained(() => new JsonGuard(RULES).push(json));
  return JSON.parse(json.toString(encoding));
}

/** @param work its owner shares the loop with others. @throws SyntaxError; the signal's reason */
export async function readForeignJson(
  json: Buffer,
  work: FairWork,
  longStrings: LongStrings = "whole",
): Promise<unknown> {
  if (json.length <= LONG_JSON) return parseForeignJson(json);
  const guard = new JsonGuard(RULES);
  for (let at = 0; at < json.length; at += CHUNK) {
    const chunk = json.subarray(at, at + CHUNK);
    await loopTurns.step({ ...work, cost: chunk.length }, () => explained(() => guard.push(chunk)));
  }
  const { value } = await parses.run({ ...work, cost: json.length }, () =>
    parseInTurns(json, work, longStrings),
  );
  return value;
}

/** The guard's own error is about the body of a request. */
function explained(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (error instanceof ServiceError) throw new SyntaxError(error.message, { cause: error });
    throw error;
  }
}
