// Draws a few requests at a time, so that a burst of large pictures cannot fill the memory.
import { Refusal } from "../request/refusal.ts";

/** A 4K picture needs some 35 MB during the drawing. */
const AT_ONCE = 2;
const MOST_WAITING = 4_096;

export class DrawingRoom {
  #drawing = 0;
  readonly #waiting: (() => void)[] = [];

  /** Runs the work of one request when a place is free. Refuses if too many requests already wait. */
  async work<T>(draw: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await draw();
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#drawing < AT_ONCE) {
      this.#drawing++;
      return;
    }
    if (this.#waiting.length >= MOST_WAITING) {
      throw new Refusal(
        "overloaded",
        "The server is currently overloaded with other requests. Please retry later.",
        null,
        "server_is_overloaded",
      );
    }
    await new Promise<void>((admit) => this.#waiting.push(admit));
  }

  /** Passes the place to the request that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#drawing--;
    else next();
  }
}
