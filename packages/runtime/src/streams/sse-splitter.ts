// SseSplitter cuts a stream of bytes into blocks of whole server-sent events, independent of the network's
// chunks. Bytes are never changed, and copied only for an event in several chunks. Lines end with LF or
// CRLF, as every upstream ends them.

const LF = 0x0a;
const CR = 0x0d;

export class SseSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Last two pending bytes, the later one in the low byte; 0 for a missing one. */
  #tail = 0;

  /** Bytes of the unfinished event. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** @returns the complete events as one block; undefined if there is none */
  push(chunk: Buffer): Buffer | undefined {
    const end = this.#endOfLastEvent(chunk);
    if (end === 0) {
      this.#keep(chunk);
      return undefined;
    }
    const head = end === chunk.length ? chunk : chunk.subarray(0, end);
    const block = this.#pendingBytes === 0 ? head : Buffer.concat([...this.#pending, head]);
    this.#drop();
    if (end < chunk.length) this.#keep(chunk.subarray(end));
    return block;
  }

  /** Removes and returns the remaining bytes at the stream's end: an event without its end. */
  remaining(): Buffer {
    const remaining = Buffer.concat(this.#pending);
    this.#drop();
    return remaining;
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    const last = bytes[bytes.length - 1] ?? 0;
    const before = bytes.length > 1 ? (bytes[bytes.length - 2] ?? 0) : this.#tail & 0xff;
    this.#tail = (before << 8) | last;
  }

  #drop(): void {
    if (this.#pendingBytes === 0) return;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#tail = 0;
  }

  /** An event ends with an empty line: a line feed after another one, a carriage return between them or not. */
  #endOfLastEvent(chunk: Buffer): number {
    for (let at = chunk.lastIndexOf(LF); at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(LF, at - 1)) {
      const before = this.#byteAt(chunk, at - 1);
      if (before === LF || (before === CR && this.#byteAt(chunk, at - 2) === LF)) return at + 1;
    }
    return 0;
  }

  #byteAt(chunk: Buffer, at: number): number {
    if (at >= 0) return chunk[at] ?? 0;
    return at === -1 ? this.#tail & 0xff : at === -2 ? this.#tail >> 8 : 0;
  }
}

/** Position after the event of a block that begins at `from`. */
export function endOfEvent(block: Buffer, from: number): number {
  for (let at = block.indexOf(LF, from); at >= 0; at = block.indexOf(LF, at + 1)) {
    const next = block[at + 1];
    if (next === LF) return at + 2;
    if (next === CR && block[at + 2] === LF) return at + 3;
  }
  return block.length;
}

const DATA = Buffer.from("data:");

/** Span of the content of the only data line; undefined for an event with none, or several. */
export function dataOf(event: Buffer): { readonly start: number; readonly end: number } | undefined {
  let found: { start: number; end: number } | undefined;
  for (let line = 0; line < event.length; ) {
    const feed = event.indexOf(LF, line);
    const next = feed < 0 ? event.length : feed + 1;
    if (startsWithData(event, line)) {
      if (found !== undefined) return undefined;
      const lineEnd = feed < 0 ? event.length : feed;
      const start = line + DATA.length + (event[line + DATA.length] === 0x20 ? 1 : 0);
      found = { start, end: event[lineEnd - 1] === CR ? lineEnd - 1 : lineEnd };
    }
    line = next;
  }
  return found;
}

function startsWithData(event: Buffer, at: number): boolean {
  for (let index = 0; index < DATA.length; index += 1) {
    if (event[at + index] !== DATA[index]) return false;
  }
  return true;
}
