// A copy of what the client of a claimed request gets, from its first byte to its last, whether the client is still
// there or not. Requests without an Idempotency-Key have none. Memory is bounded: what is too large is not kept.
import { type KeptAnswer, MOST_KEPT_BYTES } from "@gr/clients";

export class AnswerCopy {
  readonly #contentType: string;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(contentType: string) {
    this.#contentType = contentType;
  }

  /** @param bytes must not change afterwards */
  add(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes <= MOST_KEPT_BYTES) this.#parts.push(bytes);
    else this.#parts = [];
  }

  /** Everything that was added; undefined when it is too much to be kept. */
  whole(): KeptAnswer | undefined {
    if (this.#bytes > MOST_KEPT_BYTES) return undefined;
    const [first] = this.#parts;
    const body = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    return { contentType: this.#contentType, body };
  }
}
