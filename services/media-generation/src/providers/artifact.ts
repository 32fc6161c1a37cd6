// Brings what a provider has made to this process, counted and bounded: out of its answer, or from where it says.
import type { Timer } from "@gr/runtime";
import { type Outbound, OutboundError } from "./outbound.ts";
import type { Artifact } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

/** Before each try to fetch it: it was paid for, and its address may answer only a moment later. */
const PAUSES_MS = [0, 500, 2_000] as const;

export type Chunks = AsyncIterable<Uint8Array>;

/**
 * @param maxBytes it is not read beyond them
 * @param take what is made of it; may be called again, after it could not be read to its end
 * @throws ProviderError, the job was accepted; and what `take` throws on its own account
 */
export type ReadArtifact = <T>(
  artifact: Artifact,
  maxBytes: number,
  signal: AbortSignal,
  take: (chunks: Chunks) => Promise<T>,
) => Promise<T>;

export function createArtifactReader(outbound: Pick<Outbound, "stream">, clock: Timer): ReadArtifact {
  return async (artifact, maxBytes, signal, take) => {
    let failure: unknown;
    for (const pause of PAUSES_MS) {
      if (pause > 0) await clock.sleep(pause, signal);
      if (signal.aborted) break;
      try {
        const chunks =
          "stream" in artifact ? artifact.stream : outbound.stream({ url: artifact.url, maxBytes, signal });
        return await take(counted(chunks, maxBytes));
      } catch (error) {
        if (!(error instanceof OutboundError || error instanceof ProviderError)) throw error;
        failure = error;
        if (error.kind === "unreadable" || error.kind === "refused") break;
      }
    }
    throw notBrought(failure, signal);
  };
}

async function* counted(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new OutboundError("unreadable", `it is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}

/** When we gave up, another process may still bring it. */
function notBrought(cause: unknown, signal: AbortSignal): ProviderError {
  const kind = signal.aborted ? "unknown_outcome" : "failed";
  const why = cause instanceof Error ? cause.message : "given up";
  return new ProviderError(kind, `what was made cannot be fetched: ${why}`, { accepted: true, cause });
}
