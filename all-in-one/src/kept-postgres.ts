// The embedded PostgreSQL, kept running: when it dies it is started again on the same data at the same address,
// and the modules, whose requests were refused meanwhile, find it there.
import { type PostgresOptions, type PostgresServer, startPostgres } from "@gr/embedded";
import { pause } from "@gr/runtime";

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

export interface KeptPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

/** @param tell says in one sentence what happens. @throws EmbeddedError when the first start fails. */
export async function keepPostgres(
  options: PostgresOptions,
  tell: (sentence: string) => void,
): Promise<KeptPostgres> {
  const stopping = new AbortController();
  let server = await startPostgres(options);
  const { url } = server;

  async function startAgain(): Promise<PostgresServer | undefined> {
    for (let wait = RETRY_FIRST_MS; !stopping.signal.aborted; wait = Math.min(wait * 2, RETRY_MAX_MS)) {
      await pause(wait, stopping.signal);
      if (stopping.signal.aborted) return undefined;
      try {
        return await startPostgres(options);
      } catch (error) {
        tell(`PostgreSQL cannot be started again yet: ${(error as Error).message}`);
      }
    }
    return undefined;
  }
  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      await server.exited;
      if (stopping.signal.aborted) return;
      tell("PostgreSQL has ended; it is started again.");
      const next = await startAgain();
      if (next === undefined) return;
      server = next;
      if (server.url !== url) tell("PostgreSQL is at another address now; start the router again.");
    }
  }
  const keeping = keep();
  return {
    url,
    stop: async () => {
      stopping.abort();
      await server.stop();
      await keeping;
      // One that was just being started when the stop came.
      await server.stop();
    },
  };
}
