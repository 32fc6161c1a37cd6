// StreamCopy stores a stream for a repetition of a claimed request, and for an upstream that continues the stream.
import { type KeptAnswer, MOST_KEPT_BYTES } from "@gr/clients";
import { STREAM_HEADERS } from "@gr/runtime";

/** Copy of the client's stream, also after the client's disconnection. Above the size limit, nothing is stored. */
export class StreamCopy {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** @param bytes must not change afterwards */
  add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= MOST_KEPT_BYTES) this.#parts.push(bytes);
    else this.#parts = [];
  }

  /** All added bytes; undefined above the size limit. */
  whole(): KeptAnswer | undefined {
    if (this.#bytes > MOST_KEPT_BYTES) return undefined;
    return { contentType: STREAM_HEADERS["content-type"], body: Buffer.concat(this.#parts) };
  }
}
