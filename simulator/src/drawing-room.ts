// Draws pictures a few at a time, so that a burst of large images cannot fill the memory.
import { drawPicture, type PictureOrder } from "./picture.ts";
import { Refusal } from "./refusal.ts";

/** A 4K picture takes some 35 MB while it is drawn. */
const AT_ONCE = 2;
const MOST_WAITING = 256;

export class DrawingRoom {
  #drawing = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * Draws the pictures of one request, one after the other. Refuses when too many requests wait already;
   * gives up between two pictures when the signal is aborted.
   */
  async draw(orders: readonly PictureOrder[], signal: AbortSignal): Promise<Buffer[]> {
    await this.#enter();
    try {
      const pictures: Buffer[] = [];
      for (const order of orders) {
        signal.throwIfAborted();
        pictures.push(await drawPicture(order));
      }
      return pictures;
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

  /** Hands the place to the request that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#drawing--;
    else next();
  }
}
