// Brings what a provider has made to this process, counted and bounded: out of its answer, or from where it says.
import type { Timer } from "@gr/runtime";
import { type Outbound, OutboundError } from "./outbound.ts";
import type { Artifact } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

/** Of one picture or video. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Before each try to fetch it: it was paid for, and its address may answer only a moment later. */
const PAUSES_MS = [0, 500, 2_000] as const;

/** @throws ProviderError; the job was accepted */
export type ReadArtifact = (artifact: Artifact, signal: AbortSignal) => Promise<Buffer>;

export function createArtifactReader(outbound: Pick<Outbound, "download">, clock: Timer): ReadArtifact {
  return async (artifact, signal) => {
    if ("stream" in artifact) return collect(artifact.stream);
    let failure: unknown;
    for (const pause of PAUSES_MS) {
      if (pause > 0) await clock.sleep(pause, signal);
      if (signal.aborted) break;
      try {
        return await outbound.download({ url: artifact.url, maxBytes: MOST_BYTES, signal });
      } catch (error) {
        if (!(error instanceof OutboundError)) throw error;
        failure = error;
        if (error.kind === "unreadable" || error.kind === "refused") break;
      }
    }
    throw notBrought(failure, signal);
  };
}

async function collect(stream: Extract<Artifact, { stream: unknown }>["stream"]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) {
      const message = `what was made is larger than ${MOST_BYTES} bytes`;
      throw new ProviderError("failed", message, { accepted: true });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** When we gave up, another process may still bring it. */
function notBrought(cause: unknown, signal: AbortSignal): ProviderError {
  const kind = signal.aborted ? "unknown_outcome" : "failed";
  const why = cause instanceof Error ? cause.message : "given up";
  return new ProviderError(kind, `what was made cannot be fetched: ${why}`, { accepted: true, cause });
}
