// ArrivingBytes collects the bytes of a body that still arrives. The buffer grows on arrival, since announced bytes may
// never arrive. Old bytes move to the larger buffer in small parts, because a copy of 32 MB would block the loop for
// long.
import { setImmediate as otherWork } from "node:timers/promises";

/** Bytes that move to the larger buffer for each arriving byte: once it is full, the smaller one is empty. */
const MOVED_PER_BYTE = 2;
/** Bytes that move at a time after the last arrival. */
const SLICE = 1024 * 1024;

export class ArrivingBytes {
  readonly #most: number;
  #room: Buffer;
  #length = 0;
  /** The full earlier buffer, and the number of its bytes in the present one. */
  #before: Buffer | undefined;
  #moved = 0;

  /** @param first bytes of the first buffer; @param most bytes of the whole body at most */
  constructor(first: number, most: number) {
    this.#most = most;
    this.#room = Buffer.allocUnsafe(Math.min(first, most));
  }

  get length(): number {
    return this.#length;
  }

  /** @param chunk is copied */
  push(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#room.length) this.#grow(needed);
    chunk.copy(this.#room, this.#length);
    this.#length = needed;
    this.#move(MOVED_PER_BYTE * chunk.length);
  }

  /** Returns all bytes. Nothing may be pushed after it. */
  async whole(): Promise<Buffer> {
    while (this.#before !== undefined) {
      this.#move(SLICE);
      await otherWork();
    }
    return this.#room.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    this.#move(this.#before?.length ?? 0);
    const full = this.#room.subarray(0, this.#length);
    this.#room = Buffer.allocUnsafe(Math.min(this.#most, Math.max(needed, 2 * this.#room.length)));
    this.#before = full;
    this.#moved = 0;
  }

  #move(bytes: number): void {
    if (this.#before === undefined) return;
    const end = Math.min(this.#before.length, this.#moved + bytes);
    this.#before.copy(this.#room, this.#moved, this.#moved, end);
    this.#moved = end;
    if (end === this.#before.length) this.#before = undefined;
  }
}
