// The writer behind the mirror: what it refuses does not reach PostgreSQL. Only spenders that PostgreSQL has refused
// lately are looked up there, so whoever can pay neither waits for the mirror nor depends on it.
import type { Credits } from "@gr/money";
import type { Clock } from "@gr/runtime";
import { LRUCache } from "lru-cache";
import type { LedgerWriter } from "../writer/ledger-writer.ts";
import type { Operation } from "../writer/operation.ts";
import type { Posted } from "../writer/post-store.ts";
import {
  isHopeless,
  isMirrored,
  moneyRefusal,
  NUMBERS_LIFETIME_MS,
  type Payer,
  type SpendMirror,
} from "./spend-mirror.ts";
import type { ReadSpendNumbers } from "./spend-numbers-store.ts";

const MOST_SUSPECTS = 50_000;
/** Long enough that a client which tries again and again stays one. */
const SUSPECT_MS = 10_000;

export interface MirroredWriterOptions {
  readonly writer: Pick<LedgerWriter, "post">;
  readonly mirror: SpendMirror;
  readonly readNumbers: ReadSpendNumbers;
  readonly events: {
    refusedByMirror(places: number): void;
    notMirrored(error: unknown): void;
  };
  /** Milliseconds that never run back. */
  readonly stopwatch: Clock;
  /** Refused spenders that are remembered; 50,000 when absent. */
  readonly mostSuspects?: number;
}

export class MirroredWriter implements Pick<LedgerWriter, "post"> {
  readonly #options: MirroredWriterOptions;
  /** Spenders that PostgreSQL has refused, and when their numbers were last read for it. */
  readonly #suspects: LRUCache<string, number>;

  constructor(options: MirroredWriterOptions) {
    this.#options = options;
    this.#suspects = new LRUCache({ max: options.mostSuspects ?? MOST_SUSPECTS });
  }

  /** @throws ServiceError as LedgerWriter.post */
  async post(operations: readonly Operation[], signal?: AbortSignal): Promise<Posted[]> {
    const refused = await this.#refuse(operations);
    if (refused.size === 0) return this.#postAndLearn(operations, signal);
    const rest = operations.filter((operation) => !refused.has(operation));
    const posted = rest.length === 0 ? [] : await this.#postAndLearn(rest, signal);
    const answers = new Map(rest.map((operation, index) => [operation, posted[index]]));
    return operations.map((operation) => {
      const answer = refused.get(operation) ?? answers.get(operation);
      if (answer === undefined) throw new Error(`the ledger did not answer operation ${operation.holdId}`);
      return answer;
    });
  }

  /**
   * What a hold of this size would be refused with, were no other open. A flood of such questions costs PostgreSQL no more
   * than one of places.
   * @returns undefined when it would not be refused for want of money; "no spender" when this payer may not spend
   */
  async moneyRefusalOf(payer: Payer, credits: Credits): Promise<Posted | undefined | "no spender"> {
    const { mirror, readNumbers, events } = this.#options;
    if (this.#ageOf(payer) < SUSPECT_MS) {
      const [known] = await mirror.admit([{ ...payer, credits, holdId: undefined }]);
      if (known !== undefined) {
        events.refusedByMirror(1);
        return known;
      }
    }
    const numbers = (await readNumbers([payer])).get(payer.spenderId);
    if (numbers === undefined) return "no spender";
    const refusal = moneyRefusal(numbers, credits);
    if (refusal !== undefined && this.#ageOf(payer) >= NUMBERS_LIFETIME_MS) await this.#mirror([payer]);
    return refusal;
  }

  async #refuse(operations: readonly Operation[]): Promise<Map<Operation, Posted>> {
    const refused = new Map<Operation, Posted>();
    const places = operations.filter(isMirrored).filter((place) => this.#ageOf(place) < SUSPECT_MS);
    if (places.length === 0) return refused;
    const answers = await this.#options.mirror.admit(places);
    for (const [index, place] of places.entries()) {
      const answer = answers[index];
      if (answer !== undefined) refused.set(place, answer);
    }
    this.#options.events.refusedByMirror(refused.size);
    return refused;
  }

  async #postAndLearn(operations: readonly Operation[], signal: AbortSignal | undefined): Promise<Posted[]> {
    const posted = await this.#options.writer.post(operations, signal);
    const news = new Map<string, Payer>();
    for (const [index, operation] of operations.entries()) {
      const answer = posted[index];
      if (answer === undefined || !isMirrored(operation)) continue;
      // Once in the life of numbers, however often PostgreSQL has to refuse meanwhile.
      if (isHopeless(answer) && this.#ageOf(operation) >= NUMBERS_LIFETIME_MS) {
        news.set(operation.spenderId, operation);
      }
    }
    if (news.size > 0) await this.#mirror([...news.values()]);
    return posted;
  }

  #ageOf({ spenderId }: Payer): number {
    const readAt = this.#suspects.get(spenderId);
    return readAt === undefined ? Number.POSITIVE_INFINITY : this.#options.stopwatch.now() - readAt;
  }

  /** Before the answer, so that the next place of these spenders finds it. A failure costs later batches, no answer. */
  async #mirror(payers: readonly Payer[]): Promise<void> {
    const { mirror, readNumbers, events, stopwatch } = this.#options;
    const readAt = stopwatch.now();
    for (const { spenderId } of payers) this.#suspects.set(spenderId, readAt);
    try {
      const accounts = new Set(payers.map(({ accountId }) => accountId));
      const epochs = await Promise.all(
        [...accounts].map(async (accountId) => ({ accountId, epoch: await mirror.begin(accountId) })),
      );
      if (epochs.every(({ epoch }) => epoch === undefined)) return;
      const numbers = await readNumbers(payers);
      await Promise.all(
        epochs.map(async ({ accountId, epoch }) => {
          if (epoch === undefined) return;
          const spenders = payers.filter((payer) => payer.accountId === accountId);
          const known = spenders.flatMap(({ spenderId }) => {
            const each = numbers.get(spenderId);
            return each === undefined ? [] : ([[spenderId, each]] as const);
          });
          await mirror.keep(accountId, epoch, new Map(known));
        }),
      );
    } catch (error) {
      events.notMirrored(error);
    }
  }
}
