// A copy of a stream, for whoever repeats a claimed request, and for an upstream that is to go on with it.
import { type KeptAnswer, MOST_KEPT_BYTES } from "@gr/clients";
import { STREAM_TYPE } from "./client-stream.ts";

/** A copy of what the client gets, whether it is still there or not. What is too large is not kept. */
export class StreamCopy {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** @param bytes must not change afterwards */
  add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= MOST_KEPT_BYTES) this.#parts.push(bytes);
    else this.#parts = [];
  }

  /** Everything that was added; undefined when it is too much to be kept. */
  whole(): KeptAnswer | undefined {
    if (this.#bytes > MOST_KEPT_BYTES) return undefined;
    return { contentType: STREAM_TYPE, body: Buffer.concat(this.#parts) };
  }
}
