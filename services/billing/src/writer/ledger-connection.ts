// The one connection that batches are posted on. A batch that was under way when it broke has an unknown outcome, which its
// callers learn as an error.
import { isConnectionError, type Logger, type Pool, type PoolClient } from "@gr/runtime";
import { OneConnection } from "./one-connection.ts";
import type { Operation } from "./operation.ts";
import { lockForPosts, type Posted, type PostTerms, post, prepareForPosts } from "./post-store.ts";

export class LedgerConnection {
  readonly #connection: OneConnection<void>;
  readonly #terms: () => PostTerms;

  constructor(pool: Pool, terms: () => PostTerms, log: Logger) {
    this.#connection = new OneConnection(pool, prepareForPosts, log);
    this.#terms = terms;
  }

  /** Applies all of the operations, in order and in one transaction, or none of them. */
  async post(operations: readonly Operation[]): Promise<Posted[]> {
    const runs = runsOf(operations);
    return await this.#connection.use((client) =>
      runs.length === 1 ? post(client, operations, this.#terms()) : this.#postInRuns(client, runs),
    );
  }

  close(): void {
    this.#connection.close();
  }

  async #postInRuns(client: PoolClient, runs: readonly (readonly Operation[])[]): Promise<Posted[]> {
    try {
      await client.query("BEGIN");
      const posted = await postInRuns(client, runs, this.#terms());
      await client.query("COMMIT");
      return posted;
    } catch (error) {
      // On a connection that does not answer, the transaction ends with it.
      if (!isConnectionError(error)) {
        await client
          .query("ROLLBACK")
          .catch((rollbackError: Error) => this.#connection.drop(client, rollbackError));
      }
      throw error;
    }
  }
}

/**
 * One call of the SQL function `post` cannot take a hold or an Idempotency-Key twice. So a batch is cut into runs, each decided
 * when the one before it is written: the outcomes are those of one operation at a time.
 * @returns the longest runs in which each hold and each key of an account occurs once, in order.
 */
function runsOf(operations: readonly Operation[]): Operation[][] {
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
async function postInRuns(
  client: PoolClient,
  runs: readonly (readonly Operation[])[],
  terms: PostTerms,
): Promise<Posted[]> {
  await lockForPosts(client, runs.flat());
  const posted: Posted[] = [];
  for (const run of runs) posted.push(...(await post(client, run, terms)));
  return posted;
}
