// The one writer of a process. Calls that arrive while a commit is under way share the next one; there is no timer.
// A call is all or nothing; it fails alone when its own operations cannot be written.
import { ServiceError } from "@gr/proto";
import { type Batcher, createBatcher, inSpan, isServerTrouble } from "@gr/runtime";
import { isWorthAnotherTry, ledgerError } from "./ledger-error.ts";

/** Calls in one commit. Callers batch too, so it has many times more operations. */
const MOST_CALLS = 32;
const MOST_WAITING_CALLS = 5_000;
const TRIES = 5;
const PAUSE_MS = 5;

/** Writes all of the operations, or none of them. @returns one answer for each, in order */
interface Commits<Asked, Answered> {
  post(operations: readonly Asked[]): Promise<Answered[]>;
}

/** Events of commits, for the operator. */
export interface CommitEvents<Asked, Answered> {
  committed(operations: readonly Asked[], posted: readonly Answered[]): void;
  triedAgain(error: unknown): void;
}

interface Call<Asked> {
  readonly operations: readonly Asked[];
  /** Aborted when the caller has given up: what has not begun by then is not done. */
  readonly signal: AbortSignal | undefined;
}

type Answer<Answered> = { readonly posted: Answered[] } | { readonly error: unknown };

export class LedgerWriter<Asked, Answered> {
  readonly #connection: Commits<Asked, Answered>;
  readonly #events: CommitEvents<Asked, Answered>;
  readonly #batcher: Batcher<Call<Asked>, Answer<Answered>>;

  constructor(connection: Commits<Asked, Answered>, events: CommitEvents<Asked, Answered>) {
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
  async post(operations: readonly Asked[], signal?: AbortSignal): Promise<Answered[]> {
    const answer = await this.#batcher({ operations, signal });
    if ("error" in answer) throw answer.error;
    return answer.posted;
  }

  async #answer(calls: readonly Call<Asked>[]): Promise<Answer<Answered>[]> {
    const wanted = calls.filter(({ signal }) => signal?.aborted !== true);
    const answers = new Map<Call<Asked>, Answer<Answered>>();
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
  async #answerAlone({ operations }: Call<Asked>): Promise<Answer<Answered>> {
    try {
      return { posted: await this.#commit(operations) };
    } catch (error) {
      return { error: ledgerError(error) };
    }
  }

  async #commit(operations: readonly Asked[]): Promise<Answered[]> {
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
