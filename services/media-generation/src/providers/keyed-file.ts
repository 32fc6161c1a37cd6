// Keyed files open only with the provider's key. They are fetched from the provider's own host.
// A redirect to another host is followed without the key.
import type { Outbound } from "./outbound.ts";
import type { Artifact } from "./provider.ts";
import type { ProviderHttp } from "./provider-http.ts";

type Stream = Extract<Artifact, { stream: unknown }>["stream"];

/** Limit far above the size of any video. Each reader applies its own limit, too. */
const MOST_BYTES = 8 * 1024 * 1024 * 1024;

/**
 * The stream fetches the file anew each time that it is read. @throws ProviderError, OutboundError while it is read
 * @param to a path below the provider's base URL, or a whole address from an answer
 */
export type ReadFile = (to: string, signal: AbortSignal) => Stream;

export function createFileReader(http: ProviderHttp, outbound: Pick<Outbound, "stream">): ReadFile {
  async function* read(to: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const answer = await http.open(to, MOST_BYTES, signal);
    if (answer.status === 200) return yield* answer.chunks;
    answer.hangUp();
    const url = answer.header("location");
    if (url === undefined || !URL.canParse(url)) throw http.failure("follow", answer);
    yield* outbound.stream({ url, maxBytes: MOST_BYTES, signal });
  }
  return (to, signal) => ({ [Symbol.asyncIterator]: () => read(to, signal) });
}
