// Collects the pieces of a stream into one buffer. Small files need no block, and no turn of the event loop.
import { ArrivingBytes } from "@gr/runtime";

const FIRST_BYTES = 65_536;

export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const arriving = new ArrivingBytes(FIRST_BYTES);
  for await (const piece of chunks) arriving.push(piece);
  return arriving.whole();
}
