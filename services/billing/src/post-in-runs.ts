// A batch that one call of the SQL function `post` cannot take, because it has a hold or an Idempotency-Key twice. It is
// cut into runs, each decided when the one before it is written, so that the outcomes are those of one operation at a time.
import type { PoolClient } from "@gr/runtime";
import type { Operation } from "./operation.ts";
import { lockForPosts, type Posted, type PostTerms, post } from "./post-store.ts";

/** @returns the longest runs in which each hold and each key of an account occurs once, in order. */
export function runsOf(operations: readonly Operation[]): Operation[][] {
  let run: Operation[] = [];
  const runs = [run];
  const seen = new Set<string>();
  for (const operation of operations) {
    const { holdId, accountId, claim } = operation;
    const key = claim === null ? holdId : `${accountId} ${claim.key.toString("hex")}`;
    if (seen.has(holdId) || (claim !== null && seen.has(key))) {
      run = [];
      runs.push(run);
      seen.clear();
    }
    run.push(operation);
    seen.add(holdId).add(key);
  }
  return runs;
}

/** Inside a transaction of the caller. @returns one answer per operation, in order. */
export async function postInRuns(
  client: PoolClient,
  runs: readonly (readonly Operation[])[],
  terms: PostTerms,
): Promise<Posted[]> {
  await lockForPosts(client, runs.flat());
  const posted: Posted[] = [];
  for (const run of runs) posted.push(...(await post(client, run, terms)));
  return posted;
}
