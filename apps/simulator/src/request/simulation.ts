// Simulation is the shared state of all routes of one running simulator: its bill, its delays, its running work,
// and its hanging requests. Invariant: the bill is not closed before `settled()` resolves.
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Bill } from "../bill/bill.ts";

export class Simulation {
  readonly bill: Bill;
  /** Milliseconds between two tokens of a stream. */
  readonly tokenDelayMs: number;
  /** Milliseconds before an image request is drawn. */
  readonly imageDelayMs: number;
  /** Aborted when the simulator stops. */
  readonly stopping = new AbortController();
  readonly #hanging = new Set<ServerResponse>();
  #working = 0;
  #whenSettled: (() => void) | undefined;

  constructor(bill: Bill, tokenDelayMs: number, imageDelayMs: number) {
    this.bill = bill;
    this.tokenDelayMs = tokenDelayMs;
    this.imageDelayMs = imageDelayMs;
  }

  /** Sends no answer to a request until its client disconnects or the simulator stops. */
  hang(response: ServerResponse): void {
    this.#hanging.add(response);
    response.once("close", () => this.#hanging.delete(response));
    if (response.destroyed || this.stopping.signal.aborted) response.destroy();
  }

  /** Requests that hang now. */
  get hanging(): number {
    return this.#hanging.size;
  }

  /** Announces work that will book an item; each call is followed by one `endWork`. */
  beginWork(): void {
    this.#working++;
  }

  endWork(): void {
    this.#working--;
    if (this.#working === 0) this.#whenSettled?.();
  }

  /** Resolves when no work is under way. */
  async settled(): Promise<void> {
    if (this.#working > 0) await new Promise<void>((resolve) => (this.#whenSettled = resolve));
  }

  stop(): void {
    this.stopping.abort();
    for (const response of this.#hanging) response.destroy();
  }
}

/** Returns the client's `x-request-id`. */
export function callerRequestId(headers: IncomingHttpHeaders): string | undefined {
  const id = headers["x-request-id"];
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** Hexadecimal digits that no other id has. */
export function uniqueHex(digits: 20 | 32): string {
  return randomUUID().replaceAll("-", "").slice(0, digits);
}

export function unixSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
