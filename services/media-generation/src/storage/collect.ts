// Gathers what comes in pieces.
import { ArrivingBytes } from "@gr/runtime";

export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const arriving = new ArrivingBytes(0);
  for await (const piece of chunks) arriving.push(piece);
  return arriving.whole();
}
