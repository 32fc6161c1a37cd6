// One connection that a writer keeps to itself. It is opened at the first use and replaced after it broke; work that was under
// way on a broken one has an unknown outcome.
import { isConnectionError, type Logger, type Pool, type PoolClient } from "@gr/runtime";

export class OneConnection<Prepared> {
  readonly #pool: Pool;
  readonly #prepare: (client: PoolClient) => Promise<Prepared>;
  readonly #log: Logger;
  #open: { readonly client: PoolClient; readonly prepared: Prepared } | undefined;

  /** @param prepare runs once on each connection */
  constructor(pool: Pool, prepare: (client: PoolClient) => Promise<Prepared>, log: Logger) {
    this.#pool = pool;
    this.#prepare = prepare;
    this.#log = log;
  }

  /** Works on one connection. Callers wait for each other. */
  async use<Result>(work: (client: PoolClient, prepared: Prepared) => Promise<Result>): Promise<Result> {
    this.#open ??= await this.#connect();
    const { client, prepared } = this.#open;
    try {
      return await work(client, prepared);
    } catch (error) {
      if (isConnectionError(error)) this.drop(client, error);
      throw error;
    }
  }

  /** Closes this connection, unless another one has replaced it. */
  drop(client: PoolClient, error: unknown): void {
    if (this.#open?.client !== client) return;
    this.#open = undefined;
    client.release(true);
    if (error !== undefined) this.#log.warn({ err: error }, "the ledger's connection was lost");
  }

  close(): void {
    if (this.#open !== undefined) this.drop(this.#open.client, undefined);
  }

  async #connect(): Promise<{ readonly client: PoolClient; readonly prepared: Prepared }> {
    const client = await this.#pool.connect();
    client.on("error", (error) => this.drop(client, error));
    try {
      return { client, prepared: await this.#prepare(client) };
    } catch (error) {
      client.release(true);
      throw error;
    }
  }
}
