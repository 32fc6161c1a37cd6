// UpstreamCall is one request to the upstream and its answer. It distinguishes the kinds of loss:
// never sent, silent, ended by us, broken off. Nothing is ever sent again.
import type { IncomingHttpHeaders } from "node:http";
import { currentSpan, errorType, withinCurrentRequest } from "@gr/runtime";
import type { Dispatcher } from "undici";

/**
 * `not sent`: the upstream cannot have started. For all other kinds, its work is unknown.
 * `timeout`: the upstream was silent for too long.
 * `total time`: the answer lasted longer than our limit.
 * `given up`: no code here waits for its end any more.
 */
export type LossKind = "not sent" | "timeout" | "total time" | "given up" | "broken";

export class UpstreamLoss extends Error {
  override readonly name = "UpstreamLoss";
  readonly kind: LossKind;
  /**
   * Code or name of the cause. Its message must not be logged: a parser's error contains bytes of the
   * answer, which may quote the prompt.
   */
  readonly code: string;

  constructor(kind: LossKind, cause: unknown) {
    super(`the upstream request was lost (${kind})`, { cause });
    this.kind = kind;
    this.code = errorType(cause);
  }
}

/** Receives an answer in parts: a head, then data, then either the end or the loss. */
export interface AnswerReceiver {
  head(call: UpstreamCall, status: number, headers: IncomingHttpHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  /** Also possible before the head. */
  lost(loss: UpstreamLoss): void;
}

const TIMEOUTS: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

export class UpstreamCall implements Dispatcher.DispatchHandler {
  readonly #receiver: AnswerReceiver;
  readonly #total: NodeJS.Timeout;
  readonly #signal: AbortSignal;
  /** undici's callbacks run in the context of the request that opened the connection. This function restores ours. */
  readonly #within = withinCurrentRequest();
  readonly #span = currentSpan();
  #controller: Dispatcher.DispatchController | undefined;
  #sent = false;
  #expired = false;
  #over = false;

  /**
   * @param totalMs from now to the last byte of the answer
   * @param signal aborts the wait for the answer
   */
  constructor(receiver: AnswerReceiver, totalMs: number, signal: AbortSignal) {
    this.#receiver = receiver;
    this.#total = setTimeout(expire, totalMs, this);
    this.#signal = signal;
    signal.addEventListener("abort", this.#cancel);
  }

  /** Stops reading; the connection's backpressure stops the upstream. */
  pause(): void {
    if (!this.#over) this.#controller?.pause();
  }

  resume(): void {
    if (!this.#over) this.#controller?.resume();
  }

  /** Aborts the answer: the receiver's `lost` is called unless it has the end already. */
  abort(reason: Error): void {
    if (this.#over) return;
    if (this.#controller === undefined) this.#lose(reason);
    else this.#controller.abort(reason);
  }

  expire(): void {
    this.#expired = true;
    this.abort(new Error("the upstream's answer exceeded its total time limit"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error("cancelled before it was sent"));
    else this.#sent = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#span?.setAttribute("http.response.status_code", status);
    this.#within(() => this.#receiver.head(this, status, headers));
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#within(deliverData, this.#receiver, chunk);
  }

  onResponseEnd(): void {
    if (this.#finish()) this.#within(() => this.#receiver.end());
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#lose(error);
  }

  #lose(error: Error): void {
    if (!this.#finish()) return;
    const loss = new UpstreamLoss(this.#kindOf(error), error);
    this.#within(() => this.#receiver.lost(loss));
  }

  #kindOf(error: Error): LossKind {
    if (!this.#sent) return "not sent";
    if (this.#expired) return "total time";
    if (this.#signal.aborted) return "given up";
    return TIMEOUTS.has((error as NodeJS.ErrnoException).code) ? "timeout" : "broken";
  }

  readonly #cancel = (): void => this.abort(this.#signal.reason);

  /** Returns false if the call had ended before. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#total);
    this.#signal.removeEventListener("abort", this.#cancel);
    return true;
  }
}

function deliverData(receiver: AnswerReceiver, chunk: Buffer): void {
  receiver.data(chunk);
}

function expire(call: UpstreamCall): void {
  call.expire();
}
