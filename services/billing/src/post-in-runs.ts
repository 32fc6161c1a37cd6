// A batch that one call of the SQL function `post` cannot take, because it has claims or a hold twice. It is cut into
// runs, each decided when the one before it is written, so that the outcomes are those of one operation at a time.
import { OutcomeCode } from "@gr/proto/billing";
import type { PoolClient } from "@gr/runtime";
import { judgeClaims, lockForPosts, takeClaims, type Verdict } from "./claim-store.ts";
import { type ClaimingPlace, isClaiming, type Operation } from "./operation.ts";
import { type Posted, type PostTerms, post } from "./post-store.ts";

/** True when one call of the SQL function takes these operations: no claims, and each hold once. */
export function isOneRun(operations: readonly Operation[]): boolean {
  const holds = new Set<string>();
  for (const { holdId, claim } of operations) {
    if (claim !== null) return false;
    holds.add(holdId);
  }
  return holds.size === operations.length;
}

/** Inside a transaction of the caller. @returns one answer per operation, in order. */
export async function postInRuns(
  client: PoolClient,
  operations: readonly Operation[],
  terms: PostTerms,
): Promise<Posted[]> {
  const answers = new Map<Operation, Posted>();
  await lockForPosts(client, operations);
  let waiting = operations;
  while (waiting.length > 0) {
    const verdicts = await judge(client, waiting, terms);
    const { run, rest } = cutRun(waiting, verdicts, answers);
    if (run.length > 0) {
      const posted = await post(client, run, terms);
      for (const [index, answer] of posted.entries()) answers.set(itemAt(run, index), answer);
    }
    const winners = run
      .filter(isClaiming)
      .filter((place) => verdicts.get(place)?.isFree && answers.get(place)?.code === OutcomeCode.DONE);
    await takeClaims(client, winners);
    waiting = rest;
  }
  return operations.map((operation) => {
    const answer = answers.get(operation);
    if (answer === undefined) throw new Error(`a ${operation.kind} was not answered`);
    return answer;
  });
}

async function judge(
  client: PoolClient,
  operations: readonly Operation[],
  { at }: PostTerms,
): Promise<Map<Operation, Verdict>> {
  const places = operations.filter(isClaiming);
  const verdicts = await judgeClaims(client, places, at);
  return new Map(verdicts.map((verdict, index) => [itemAt(places, index), verdict]));
}

/**
 * Takes operations until one depends on what an earlier one of this run does to its hold or its key. Places that a
 * claim refuses change nothing: they are answered at once and are not part of the run.
 */
function cutRun(
  operations: readonly Operation[],
  verdicts: ReadonlyMap<Operation, Verdict>,
  answers: Map<Operation, Posted>,
): { run: Operation[]; rest: readonly Operation[] } {
  const run: Operation[] = [];
  const holds = new Set<string>();
  const keys = new Set<string>();
  for (const [index, operation] of operations.entries()) {
    const verdict = verdicts.get(operation);
    const key = isClaiming(operation) ? keyOf(operation) : undefined;
    const depends =
      holds.has(operation.holdId) ||
      (key !== undefined && keys.has(key)) ||
      (typeof verdict?.holder === "string" && holds.has(verdict.holder));
    if (depends) return { run, rest: operations.slice(index) };
    if (verdict?.refused !== undefined) {
      answers.set(operation, verdict.refused);
      continue;
    }
    run.push(operation);
    holds.add(operation.holdId);
    if (key !== undefined) keys.add(key);
  }
  return { run, rest: [] };
}

function keyOf({ accountId, claim }: ClaimingPlace): string {
  return `${accountId} ${claim.key.toString("hex")}`;
}

function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`nothing at ${index}`);
  return item;
}
