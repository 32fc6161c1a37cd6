// WatchedAnswer reports each outcome to the circuit breaker: at the status line, or when the connection is lost.
// Errors below 500 belong to the request and do not count, except 408. An error counts only after its body:
// an error in the provider's own format may be the fault of the request.
import type { IncomingHttpHeaders } from "node:http";
import type { CircuitBreaker, Permit } from "./circuit-breaker.ts";
import type { AnswerReceiver, UpstreamCall, UpstreamLoss } from "./upstream-call.ts";
import { coolDownOf, readEnvelope } from "./upstream-refusal.ts";

/** Bytes of an error's body; an error in the provider's format is far shorter. */
const MOST_ERROR_BYTES = 64 * 1024;

export class WatchedAnswer implements AnswerReceiver {
  readonly #receiver: AnswerReceiver;
  readonly #breaker: CircuitBreaker;
  readonly #permit: Permit;
  readonly #signal: AbortSignal;
  /** Body of an error; undefined for other answers. */
  #error: Buffer[] | undefined;
  #errorBytes = 0;

  /** @param signal aborted when this process ends the request */
  constructor(receiver: AnswerReceiver, breaker: CircuitBreaker, permit: Permit, signal: AbortSignal) {
    this.#receiver = receiver;
    this.#breaker = breaker;
    this.#permit = permit;
    this.#signal = signal;
  }

  head(call: UpstreamCall, status: number, headers: IncomingHttpHeaders): void {
    const coolDown = coolDownOf(status, headers);
    if (coolDown !== undefined) this.#breaker.coolDown(coolDown);
    if (status === 200) this.#permit.succeeded();
    else if (status >= 500 || status === 408) this.#error = [];
    else this.#permit.ignored();
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
      this.#permit.failed(isProper ? "unclear" : "upstream");
    }
    this.#receiver.end();
  }

  lost(loss: UpstreamLoss): void {
    if (this.#signal.aborted) this.#permit.ignored();
    else this.#permit.failed("upstream");
    this.#receiver.lost(loss);
  }
}
