// Answers of a scripted server, as a stream of events whose bytes the test chooses.
import type { ServerResponse } from "node:http";

/** Streams these pieces, each on its own and no faster than the client reads, then ends or runs `after`. */
export function streamPieces(
  pieces: Iterable<string>,
  after: (response: ServerResponse) => void = (response) => response.end(),
) {
  return async (_request: unknown, response: ServerResponse): Promise<void> => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    for (const piece of pieces) {
      if (response.destroyed) return;
      if (!response.write(piece)) await drained(response);
      await new Promise((resolve) => setImmediate(resolve));
    }
    after(response);
  };
}

/** Resolves once the client has read enough, or has left. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
}
