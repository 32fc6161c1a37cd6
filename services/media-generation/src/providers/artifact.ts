// ReadArtifact fetches a provider's output into this process, with a byte limit: from the
// answer itself or from its address.
import type { Timer } from "@gr/runtime";
import { type Outbound, OutboundError } from "./outbound.ts";
import type { Artifact } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

/** Pauses before each fetch. The output is already paid for, and its address may work only a moment later. */
const PAUSES_MS = [0, 500, 2_000] as const;

export type Chunks = AsyncIterable<Uint8Array>;

/**
 * @param maxBytes limit of bytes to read
 * @param take the consumer of the chunks; called again after a failed read
 * @throws ProviderError with `accepted`, and any error of `consume` itself
 */
export type ReadArtifact = <T>(
  artifact: Artifact,
  maxBytes: number,
  signal: AbortSignal,
  consume: (chunks: Chunks) => Promise<T>,
) => Promise<T>;

export function createArtifactReader(outbound: Pick<Outbound, "stream">, clock: Timer): ReadArtifact {
  return async (artifact, maxBytes, signal, consume) => {
    let failure: unknown;
    for (const pause of PAUSES_MS) {
      if (pause > 0) await clock.sleep(pause, signal);
      if (signal.aborted) break;
      try {
        const chunks =
          "stream" in artifact ? artifact.stream : outbound.stream({ url: artifact.url, maxBytes, signal });
        return await consume(counted(chunks, maxBytes));
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

/** After our own abort, another process may still fetch the output. */
function notBrought(cause: unknown, signal: AbortSignal): ProviderError {
  const kind = signal.aborted ? "unknown_outcome" : "failed";
  const why = cause instanceof Error ? cause.message : "given up";
  return new ProviderError(kind, `the result cannot be fetched: ${why}`, { accepted: true, cause });
}
