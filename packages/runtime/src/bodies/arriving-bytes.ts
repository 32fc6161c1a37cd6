// The bytes of a body that is still arriving. Room is made as they come, since what is announced need not come; and what is
// there already moves to the larger room little by little, because a copy of 32 MB would keep the loop for long.
import { setImmediate as otherWork } from "node:timers/promises";

/** Of the smaller room, so many bytes move for each that arrives: when the larger one is full, none is left there. */
const MOVED_PER_BYTE = 2;
/** When all have arrived, so many move at a time. */
const SLICE = 1024 * 1024;

export class ArrivingBytes {
  readonly #most: number;
  #room: Buffer;
  #length = 0;
  /** The room before, full, and how many of its bytes are in the present one. */
  #before: Buffer | undefined;
  #moved = 0;

  /** @param first bytes that there is room for at once; @param most bytes that come at most */
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

  /** All of them. Nothing may be pushed after it. */
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
