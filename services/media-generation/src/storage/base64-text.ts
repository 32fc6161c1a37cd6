// Base64Text reads and writes pictures as base64, one slice in each turn of the event loop.
// In one piece, 25 MB block the loop for some 15 ms, and JSON.stringify of their text for 70 ms.
import { setImmediate as otherWork } from "node:timers/promises";
import { loopTurns } from "@gr/runtime";

/** Characters of a slice; a multiple of four, so that each slice decodes on its own. */
export const SLICE_DIGITS = 256 * 1024;
const SLICE_BYTES = (SLICE_DIGITS / 4) * 3;
const NO_DIGITS = /[^A-Za-z0-9+/_-]+/g;
/** Pictures of providers: one owner beside the accounts that send long bodies. */
const MADE = { owner: "made pictures", cost: SLICE_DIGITS };

/** Bytes of a base64 text of a provider; characters that are no digits count for nothing. It can be read again. */
export function decodedPieces(base64: string): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => decode(base64) };
}

async function* decode(base64: string): AsyncGenerator<Buffer> {
  let undecoded = "";
  for (let at = 0; at < base64.length; at += SLICE_DIGITS) {
    yield await loopTurns.step(MADE, () => {
      const digits = undecoded + base64.slice(at, at + SLICE_DIGITS).replace(NO_DIGITS, "");
      const end = digits.length - (digits.length % 4);
      undecoded = digits.slice(end);
      return Buffer.from(digits.slice(0, end), "base64");
    });
  }
  yield Buffer.from(undecoded, "base64");
}

/** Bytes that a JSON body has as base64, with a prefix before them. */
export class Base64Text {
  readonly #prefix: string;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, prefix = "") {
    this.#bytes = bytes;
    this.#prefix = prefix;
  }

  /** Characters, which are ASCII. */
  get length(): number {
    return this.#prefix.length + Math.ceil(this.#bytes.length / 3) * 4;
  }

  async *pieces(): AsyncGenerator<Buffer> {
    yield Buffer.from(this.#prefix);
    for (let at = 0; at < this.#bytes.length; at += SLICE_BYTES) {
      yield Buffer.from(this.#bytes.toString("base64", at, at + SLICE_BYTES), "latin1");
      await otherWork();
    }
  }
}
