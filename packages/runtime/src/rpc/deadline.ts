// A deadline ends a call without an answer: its time has passed, or its caller has cancelled.
import { Code, ConnectError } from "@connectrpc/connect";

export class Deadline {
  /** Aborted when the call is over before its answer. */
  readonly signal: AbortSignal;
  /** Rejects at the same moment. */
  readonly passed: Promise<never>;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #unlisten: () => void;
  #reject: (error: ConnectError) => void = () => undefined;

  constructor(timeoutMs: number | undefined, caller: AbortSignal | undefined) {
    this.signal = this.#controller.signal;
    this.passed = new Promise((_, reject) => {
      this.#reject = reject;
    });
    // After the answer of the call, the promise may have no listener.
    this.passed.catch(() => undefined);
    const cancel = () => this.end(new ConnectError("the caller cancelled the call", Code.Canceled));
    this.#timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(
            () => this.end(new ConnectError("the operation timed out", Code.DeadlineExceeded)),
            timeoutMs,
          );
    caller?.addEventListener("abort", cancel, { once: true });
    this.#unlisten = () => caller?.removeEventListener("abort", cancel);
    if (caller?.aborted) cancel();
  }

  end(error: ConnectError): void {
    this.#controller.abort(error);
    this.#reject(error);
  }

  /** @throws ConnectError when the call is over already. */
  check(): void {
    if (this.signal.aborted) throw this.signal.reason;
  }

  /** To be called once the call has been answered. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#unlisten();
  }
}
