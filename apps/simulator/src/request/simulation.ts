// What all routes of one running simulator share: its bill, its delays, the work it has under way,
// and the requests it leaves hanging. Invariant: the bill is not closed before `settled()` resolves.
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

  /** Leaves a request without an answer until its client goes away or the simulator stops. */
  hang(response: ServerResponse): void {
    this.#hanging.add(response);
    response.once("close", () => this.#hanging.delete(response));
    if (response.destroyed || this.stopping.signal.aborted) response.destroy();
  }

  /** Requests that hang now. */
  get hanging(): number {
    return this.#hanging.size;
  }

  /** Announces work that will still book something; each call is answered by one `endWork`. */
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

/** The id that the caller sent as `x-request-id`. */
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
