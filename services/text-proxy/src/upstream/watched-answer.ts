// WatchedAnswer reports each outcome to the circuit breaker: at the status line, or when the connection is lost.
// Errors below 500 belong to the request and do not count, except 408. An error counts only after its body:
// an error in the provider's own format may be the fault of the request.
import type { IncomingHttpHeaders } from "node:http";
import type { CircuitBreaker, Passage } from "./circuit-breaker.ts";
import type { AnswerReceiver, UpstreamCall, UpstreamLoss } from "./upstream-call.ts";
import { readEnvelope, restOf } from "./upstream-refusal.ts";

/** Bytes of an error's body; an error in the provider's format is far shorter. */
const MOST_ERROR_BYTES = 64 * 1024;

export class WatchedAnswer implements AnswerReceiver {
  readonly #receiver: AnswerReceiver;
  readonly #breaker: CircuitBreaker;
  readonly #passage: Passage;
  readonly #signal: AbortSignal;
  /** Body of an error; undefined for other answers. */
  #error: Buffer[] | undefined;
  #errorBytes = 0;

  /** @param signal aborted when this process ends the request */
  constructor(receiver: AnswerReceiver, breaker: CircuitBreaker, passage: Passage, signal: AbortSignal) {
    this.#receiver = receiver;
    this.#breaker = breaker;
    this.#passage = passage;
    this.#signal = signal;
  }

  head(call: UpstreamCall, status: number, headers: IncomingHttpHeaders): void {
    const rest = restOf(status, headers);
    if (rest !== undefined) this.#breaker.rest(rest);
    if (status === 200) this.#passage.succeeded();
    else if (status >= 500 || status === 408) this.#error = [];
    else this.#passage.left();
    this.#receiver.head(call, status, headers);
  }

  data(chunk: Buffer): void {
    this.#errorBytes += chunk.length;
    if (this.#errorBytes <= MOST_ERROR_BYTES) this.#error?.push(chunk);
    this.#receiver.data(chunk);
  }

  end(): void {
    if (this.#error !== undefined) {
      const isProper =
        this.#errorBytes <= MOST_ERROR_BYTES && readEnvelope(Buffer.concat(this.#error)) !== undefined;
      this.#passage.failed(isProper ? "unclear" : "upstream");
    }
    this.#receiver.end();
  }

  lost(loss: UpstreamLoss): void {
    if (this.#signal.aborted) this.#passage.left();
    else this.#passage.failed("upstream");
    this.#receiver.lost(loss);
  }
}
