// ArrivingBytes keeps the bytes of a body that is still arriving: first in a small room, then in blocks of 1 MiB, since a client
// may announce more than it sends. No step copies more than a block, because a copy of 32 MB would block the loop.
// Blocks are used again, and chunks are freed: V8 collects all garbage of the process for each 64 MB of new buffers, also of refused bodies.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setImmediate as otherWork } from "node:timers/promises";

const BLOCK = 1024 * 1024;
/** Free blocks that the process keeps. */
const MOST_FREE = 32;

const free: Buffer[] = [];

/** Frees the memory of a chunk that nobody reads any more. Chunks of injected requests belong to their test. */
export function freeChunk(payload: NodeJS.ReadableStream, { buffer, byteLength }: Buffer): void {
  const isOfSocket = payload instanceof IncomingMessage && payload.socket instanceof Socket;
  // Other chunks share their memory.
  if (isOfSocket && buffer.byteLength === byteLength) (buffer as ArrayBuffer).transfer(0);
}

export class ArrivingBytes {
  readonly #blockBytes: number;
  readonly #first: Buffer;
  readonly #blocks: Buffer[] = [];
  /** Room that bytes are copied to, and bytes that it has. */
  #room: Buffer;
  #filled = 0;
  #length = 0;

  /** @param first bytes of the first room. @param blockBytes of each further one */
  constructor(first: number, blockBytes = BLOCK) {
    this.#blockBytes = blockBytes;
    this.#first = Buffer.allocUnsafe(first);
    this.#room = this.#first;
  }

  get length(): number {
    return this.#length;
  }

  /** @param chunk is copied */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#filled === this.#room.length) this.#addBlock();
      const part = chunk.subarray(at, at + this.#room.length - this.#filled);
      this.#room.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
    }
    this.#length += chunk.length;
  }

  /** Returns all bytes of a short body in one piece. Nothing may be pushed after it. */
  wholeAtOnce(): Buffer {
    if (this.#blocks.length === 0) return this.#first.subarray(0, this.#length);
    const whole = Buffer.concat([this.#first, ...this.#blocks], this.#length);
    this.discard();
    return whole;
  }

  /** Returns all bytes in one piece, copied in steps. Nothing may be pushed after it. */
  async whole(): Promise<Buffer> {
    if (this.#blocks.length === 0) return this.#first.subarray(0, this.#length);
    const whole = Buffer.allocUnsafe(this.#length);
    let at = this.#first.copy(whole);
    for (const block of this.#blocks) {
      at += block.copy(whole, at);
      await otherWork();
    }
    this.discard();
    return whole;
  }

  /** Ends the use of the blocks: nobody wants the bytes any more. */
  discard(): void {
    for (const block of this.#blocks.splice(0)) {
      if (block.length === BLOCK && free.length < MOST_FREE) free.push(block);
    }
    this.#room = this.#first;
    this.#filled = this.#first.length;
  }

  #addBlock(): void {
    const block = this.#blockBytes === BLOCK ? free.pop() : undefined;
    this.#room = block ?? Buffer.allocUnsafeSlow(this.#blockBytes);
    this.#blocks.push(this.#room);
    this.#filled = 0;
  }
}
