// Writer watch owns the view of one process's writer: its present batch, the times that it has read, and its answers. The books
// of the history judge each of them.
import { ChainConnection, type ChainOperation, type ChainOptions, runsOf } from "@gr/billing/simulated";
import type { Outcome } from "@gr/ledger";
import type { Clock } from "@gr/runtime";
import type { Verdict } from "../books/judge.ts";
import type { Life } from "../world/process.ts";
import type { Database } from "./database.ts";
import { knownOperation } from "./known-operation.ts";
import type { Operation } from "./operation.ts";
import { poolOf } from "./session.ts";

/** An operation with the answer that is right for it. */
export interface Watched {
  readonly operation: Operation;
  readonly accountId: string;
  /** Right answers by each time that the writer has read; empty while nothing was stored or read for it. */
  expected: readonly Verdict[];
  isStored: boolean;
}

/** Operations that the writer decides together. */
export interface Batch {
  readonly watched: readonly Watched[];
  /** By true time. */
  readonly beganAt: number;
  /** Times at which it decided, Unix milliseconds. */
  readonly times: Set<number>;
  /** Hopeless places were refused without a statement. */
  isFromMemory: boolean;
}

export interface AnswerAudit {
  /** @throws Violation if an answer is wrong */
  answered(batch: Batch, outcomes: readonly Outcome[]): void;
}

export class WriterWatch {
  readonly #life: Life;
  readonly #database: Database;
  readonly #audit: AnswerAudit;
  batch: Batch | undefined;

  constructor(life: Life, database: Database, audit: AnswerAudit) {
    this.#life = life;
    this.#database = database;
    this.#audit = audit;
  }

  /** The connection of production, on a pool of its own. */
  connect(options: ChainOptions): Pick<ChainConnection, "post" | "close"> {
    const connection = new ChainConnection({
      ...options,
      pool: poolOf(this.#life, this.#database, this),
      clock: this.#clockOf(options.clock),
    });
    return {
      post: (operations) => this.#post(connection, operations),
      close: () => connection.close(),
    };
  }

  /** The batch at work has hopeless places that are refused without a statement. */
  refuseFromMemory(): void {
    if (this.batch !== undefined) this.batch.isFromMemory = true;
  }

  /** The connection cuts a batch into the same runs. */
  async #post(connection: ChainConnection, operations: readonly ChainOperation[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const run of runsOf(operations)) {
      const batch: Batch = {
        watched: run.map((operation) => ({
          operation: knownOperation(operation),
          accountId: operation.accountId,
          expected: [],
          isStored: false,
        })),
        beganAt: this.#life.world.now,
        times: new Set(),
        isFromMemory: false,
      };
      this.batch = batch;
      const answered = await connection.post(run);
      try {
        this.#audit.answered(batch, answered);
      } catch (error) {
        throw this.#life.world.fail(error);
      }
      outcomes.push(...answered);
    }
    return outcomes;
  }

  #clockOf(clock: Clock): Clock {
    return {
      now: () => {
        const now = clock.now();
        this.batch?.times.add(Math.floor(now));
        return now;
      },
    };
  }
}
