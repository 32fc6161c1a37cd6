// The one writer of a process. Calls that arrive while a commit is under way share the next one; there is no timer.
// A call is all or nothing; it fails alone when its own operations cannot be written.
import { ServiceError } from "@gr/proto";
import { type Batcher, createBatcher, inSpan, isServerTrouble } from "@gr/runtime";
import type { BillingEvents } from "../events.ts";
import type { LedgerConnection } from "./ledger-connection.ts";
import { isWorthAnotherTry, ledgerError } from "./ledger-error.ts";
import type { Operation } from "./operation.ts";
import type { Posted } from "./post-store.ts";

/** Calls in one commit. Callers batch too, so it has many times more operations. */
const MOST_CALLS = 32;
const MOST_WAITING_CALLS = 5_000;
const TRIES = 5;
const PAUSE_MS = 5;

interface Call {
  readonly operations: readonly Operation[];
  /** Aborted when the caller has given up: what has not begun by then is not done. */
  readonly signal: AbortSignal | undefined;
}

type Answer = { readonly posted: Posted[] } | { readonly error: unknown };

export class LedgerWriter {
  readonly #connection: Pick<LedgerConnection, "post">;
  readonly #events: BillingEvents;
  readonly #batcher: Batcher<Call, Answer>;

  constructor(connection: Pick<LedgerConnection, "post">, events: BillingEvents) {
    this.#connection = connection;
    this.#events = events;
    this.#batcher = createBatcher((calls) => this.#answer(calls), {
      maxBatch: MOST_CALLS,
      maxQueue: MOST_WAITING_CALLS,
      overflow: () => refused("Billing has more to do than it can; try again shortly."),
    });
  }

  /** Calls that wait for a commit. */
  get waiting(): number {
    return this.#batcher.waiting();
  }

  /** @throws ServiceError billing_unavailable when it is not known whether the operations were applied. */
  async post(operations: readonly Operation[], signal?: AbortSignal): Promise<Posted[]> {
    const answer = await this.#batcher({ operations, signal });
    if ("error" in answer) throw answer.error;
    return answer.posted;
  }

  async #answer(calls: readonly Call[]): Promise<Answer[]> {
    const wanted = calls.filter(({ signal }) => signal?.aborted !== true);
    const answers = new Map<Call, Answer>();
    try {
      const posted = await this.#commit(wanted.flatMap(({ operations }) => operations));
      let from = 0;
      for (const call of wanted) {
        const to = from + call.operations.length;
        answers.set(call, { posted: posted.slice(from, to) });
        from = to;
      }
    } catch (error) {
      const failure = ledgerError(error);
      const alone = wanted.length === 1 || isServerTrouble(error);
      for (const call of wanted)
        answers.set(call, alone ? { error: failure } : await this.#answerAlone(call));
    }
    return calls.map(
      (call) => answers.get(call) ?? { error: refused("The caller gave up before its turn.") },
    );
  }

  /** After a batch that cannot be written as a whole: finds out whose fault it is. */
  async #answerAlone({ operations }: Call): Promise<Answer> {
    try {
      return { posted: await this.#commit(operations) };
    } catch (error) {
      return { error: ledgerError(error) };
    }
  }

  async #commit(operations: readonly Operation[]): Promise<Posted[]> {
    if (operations.length === 0) return [];
    for (let attempt = 1; ; attempt += 1) {
      try {
        const posted = await inSpan(
          "billing commit",
          () => ({ attributes: { "gr.operations": operations.length } }),
          () => this.#connection.post(operations),
        );
        this.#events.committed(operations, posted);
        return posted;
      } catch (error) {
        if (attempt === TRIES || !isWorthAnotherTry(error)) throw error;
        this.#events.triedAgain(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** attempt * Math.random()));
      }
    }
  }
}

function refused(message: string): ServiceError {
  return new ServiceError("billing_unavailable", message, { retryAfterMs: 1_000 });
}
