// A kept server is an embedded server that is restarted at the same address after its death. Until then the modules refuse
// requests or answer slowly.
import { pause } from "@gr/runtime";

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

interface Server {
  readonly url: string;
  /** Resolves when the server has ended, for any reason. */
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

export interface KeptServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * @param title names the server in sentences
 * @param start must return the same address each time; receives the address of the first start, if there was one
 * @param tell receives one sentence for each event
 * @throws EmbeddedError if the first start fails
 */
export async function keepServer(
  title: string,
  start: (url: string | undefined) => Promise<Server>,
  report: (sentence: string) => void,
): Promise<KeptServer> {
  const stopping = new AbortController();
  let server = await start(undefined);
  const { url } = server;

  async function startAgain(): Promise<Server | undefined> {
    for (let wait = RETRY_FIRST_MS; !stopping.signal.aborted; wait = Math.min(wait * 2, RETRY_MAX_MS)) {
      await pause(wait, stopping.signal);
      if (stopping.signal.aborted) return undefined;
      try {
        return await start(url);
      } catch (error) {
        report(`${title} cannot be started again yet: ${(error as Error).message}`);
      }
    }
    return undefined;
  }
  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      await server.exited;
      if (stopping.signal.aborted) return;
      report(`${title} has ended; it is started again.`);
      const next = await startAgain();
      if (next === undefined) return;
      server = next;
      if (server.url !== url) report(`${title} is at another address now; start the router again.`);
    }
  }
  const keeping = keep();
  return {
    url,
    stop: async () => {
      stopping.abort();
      await server.stop();
      await keeping;
      // A server that was being started during the stop.
      await server.stop();
    },
  };
}
