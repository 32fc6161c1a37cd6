// The one connection that batches are posted on. It is opened when first needed and replaced when it breaks; a batch
// that was under way on a broken one has an unknown outcome, which its callers learn as an error.
import { isConnectionError, type Logger, type Pool, type PoolClient } from "@gr/runtime";
import type { LedgerTime } from "./ledger-time.ts";
import type { Operation } from "./operation.ts";
import { type Posted, post, prepareForPosts } from "./post-store.ts";

export class LedgerConnection {
  readonly #pool: Pool;
  readonly #time: LedgerTime;
  readonly #log: Logger;
  #client: PoolClient | undefined;

  constructor(pool: Pool, time: LedgerTime, log: Logger) {
    this.#pool = pool;
    this.#time = time;
    this.#log = log;
  }

  /** Applies all of the operations, in order and in one transaction, or none of them. */
  async post(operations: readonly Operation[]): Promise<Posted[]> {
    const client = await this.#open();
    try {
      const runs = splitAtRepeats(operations);
      return runs.length === 1
        ? await post(client, operations, this.#time())
        : await this.#postRuns(client, runs);
    } catch (error) {
      if (isConnectionError(error)) this.#drop(client, error);
      throw error;
    }
  }

  close(): void {
    if (this.#client !== undefined) this.#drop(this.#client, undefined);
  }

  async #open(): Promise<PoolClient> {
    if (this.#client !== undefined) return this.#client;
    const client = await this.#pool.connect();
    client.on("error", (error) => this.#drop(client, error));
    try {
      await prepareForPosts(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#client = client;
    return client;
  }

  async #postRuns(client: PoolClient, runs: readonly Operation[][]): Promise<Posted[]> {
    const posted: Posted[] = [];
    try {
      await client.query("BEGIN");
      for (const run of runs) posted.push(...(await post(client, run, this.#time())));
      await client.query("COMMIT");
      return posted;
    } catch (error) {
      await client.query("ROLLBACK").catch((rollbackError: Error) => this.#drop(client, rollbackError));
      throw error;
    }
  }

  #drop(client: PoolClient, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.release(true);
    if (error !== undefined) this.#log.warn({ err: error }, "the ledger's connection was lost");
  }
}

/** Cuts the list before every operation on a hold that its part has already: the SQL function takes each hold once. */
function splitAtRepeats(operations: readonly Operation[]): Operation[][] {
  const runs: Operation[][] = [];
  let run: Operation[] = [];
  let holds = new Set<string>();
  for (const operation of operations) {
    if (holds.has(operation.holdId)) {
      runs.push(run);
      run = [];
      holds = new Set();
    }
    run.push(operation);
    holds.add(operation.holdId);
  }
  runs.push(run);
  return runs;
}
