// Tells a breaker what an answer says about its upstream, as soon as its head is there or will not come any more. What a
// client can bring about by its request says nothing.
import type { IncomingHttpHeaders } from "node:http";
import type { CircuitBreaker, Passage } from "./circuit-breaker.ts";
import type { AnswerReceiver, UpstreamCall, UpstreamLoss } from "./upstream-call.ts";
import { restOf } from "./upstream-refusal.ts";

export class WatchedAnswer implements AnswerReceiver {
  readonly #receiver: AnswerReceiver;
  readonly #breaker: CircuitBreaker;
  readonly #passage: Passage;
  readonly #signal: AbortSignal;

  /** @param signal by which we gave up on it, if we did */
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
    else if (status >= 500 || status === 408) this.#passage.failed();
    else this.#passage.left();
    this.#receiver.head(call, status, headers);
  }

  data(chunk: Buffer): void {
    this.#receiver.data(chunk);
  }

  end(): void {
    this.#receiver.end();
  }

  lost(loss: UpstreamLoss): void {
    if (this.#signal.aborted) this.#passage.left();
    else this.#passage.failed();
    this.#receiver.lost(loss);
  }
}
