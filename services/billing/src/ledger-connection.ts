// The one connection that batches are posted on. It is opened when first needed and replaced when it breaks; a batch
// that was under way on a broken one has an unknown outcome, which its callers learn as an error.
import { isConnectionError, type Logger, type Pool, type PoolClient } from "@gr/runtime";
import type { Operation } from "./operation.ts";
import { postInRuns, runsOf } from "./post-in-runs.ts";
import { type Posted, type PostTerms, post, prepareForPosts } from "./post-store.ts";

export class LedgerConnection {
  readonly #pool: Pool;
  readonly #terms: () => PostTerms;
  readonly #log: Logger;
  #client: PoolClient | undefined;

  constructor(pool: Pool, terms: () => PostTerms, log: Logger) {
    this.#pool = pool;
    this.#terms = terms;
    this.#log = log;
  }

  /** Applies all of the operations, in order and in one transaction, or none of them. */
  async post(operations: readonly Operation[]): Promise<Posted[]> {
    const client = await this.#open();
    const runs = runsOf(operations);
    try {
      return runs.length === 1
        ? await post(client, operations, this.#terms())
        : await this.#postInRuns(client, runs);
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

  async #postInRuns(client: PoolClient, runs: readonly (readonly Operation[])[]): Promise<Posted[]> {
    try {
      await client.query("BEGIN");
      const posted = await postInRuns(client, runs, this.#terms());
      await client.query("COMMIT");
      return posted;
    } catch (error) {
      // On a connection that does not answer, the transaction ends with it.
      if (!isConnectionError(error)) {
        await client.query("ROLLBACK").catch((rollbackError: Error) => this.#drop(client, rollbackError));
      }
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
