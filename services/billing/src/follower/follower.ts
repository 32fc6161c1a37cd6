// Follower owns the work behind the ledger: a reader applies each committed step once, in the transaction that moves its cursor.
// No answer about money waits for it. Several processes may follow: the lock of a cursor gives each bucket to one of them.
import {
  type Batcher,
  type Clock,
  createBatcher,
  inTransaction,
  type Logger,
  type Pool,
  type PoolClient,
  pause,
  sqlStateOf,
} from "@gr/runtime";
import { withCopyOfSteps } from "../shards/copied-steps-store.ts";
import { type Shards, shardsOf } from "../shards/shard-store.ts";
import {
  firstTransaction,
  forgetTransactions,
  hasLateSteps,
  IN_RANGE,
  lockPositions,
  movePosition,
  openRound,
  type Position,
  peekPositions,
  rangeValues,
} from "./cursor-store.ts";
import { isOfAnotherServer, rangeAfter, type StepRange } from "./step-range.ts";

/** Queries of a reader: a text and its values. */
export type StepClient = Pick<PoolClient, "query">;

/** A consumer of steps, with tables of its own. */
export interface StepReader {
  /** Name of its cursors. */
  readonly name: string;
  /** Applies the steps of a range. The transaction sees one snapshot. */
  apply(client: StepClient, buckets: readonly number[], range: StepRange): Promise<void>;
  /** Deletes the rows of these buckets. */
  clear(client: StepClient, buckets: readonly number[]): Promise<void>;
}

export interface FollowerOptions {
  readonly pool: Pool;
  readonly reader: StepReader;
  readonly log: Logger;
  /** Milliseconds from a round that applied steps to the next one, so that readers of sums cannot cause more; 100 if absent. */
  readonly pauseMs?: number;
  /** Waits for so many milliseconds; absent: in real time. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Milliseconds that never run back; those of this process if absent. */
  readonly stopwatch?: Clock;
}

/** Another follower has moved a cursor, or forgotten transactions, since the snapshot. */
const SERIALIZATION_FAILURE = "40001";
/** Conflicts in one round. */
const MOST_CONFLICTS = 20;
const PAUSE_MS = 100;
const STOPWATCH: Clock = { now: () => performance.now() };
const MOST_WAITING = 10_000;

export class Follower {
  readonly #options: FollowerOptions;
  readonly #rounds: Batcher<void, void>;
  /** Milliseconds of a stopwatch until which no round begins. */
  #pausedUntil = 0;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#rounds = createBatcher(
      async (calls) => {
        await this.#follow();
        return calls.map(() => undefined);
      },
      {
        maxBatch: MOST_WAITING,
        maxQueue: MOST_WAITING,
        overflow: () => new Error("Too many reads wait for the follower."),
      },
    );
  }

  /**
   * Applies the steps that were committed before the call, except those of buckets that another process follows at this moment.
   * Calls that wait share a round. After a round with steps, they wait for the pause.
   */
  async catchUp(): Promise<void> {
    await this.#rounds();
  }

  async #follow(): Promise<void> {
    const { pool, pauseMs = PAUSE_MS, wait = pause, stopwatch = STOPWATCH } = this.#options;
    const pausedFor = this.#pausedUntil - stopwatch.now();
    if (pausedFor > 0) await wait(pausedFor);
    const shards = await shardsOf(pool);
    let conflicts = 0;
    for (let isComplete = !(await this.#hasNews(shards)); !isComplete; ) {
      try {
        isComplete = await inTransaction(pool, (client) => this.#followOnce(client, shards));
        this.#pausedUntil = stopwatch.now() + pauseMs;
      } catch (error) {
        conflicts += 1;
        if (sqlStateOf(error) !== SERIALIZATION_FAILURE || conflicts > MOST_CONFLICTS) throw error;
      }
    }
  }

  /** A look without a lock: an idle ledger costs no transaction id. */
  async #hasNews(shards: Shards): Promise<boolean> {
    const { pool, reader } = this.#options;
    return await inTransaction(pool, async (client) => {
      await openRound(client, shards);
      for (const position of await peekPositions(client, reader.name, shards)) {
        if (isOfAnotherServer(position.seen, position.now)) return true;
        if ((await firstTransaction(client, position)) !== undefined) return true;
        if (await hasLateSteps(client, position)) return true;
      }
      return false;
    });
  }

  /** @returns whether each locked cursor has reached the snapshot */
  async #followOnce(client: PoolClient, shards: Shards): Promise<boolean> {
    const { reader } = this.#options;
    await openRound(client, shards);
    const behind = new Set<number>();
    for (const position of await lockPositions(client, reader.name, shards)) {
      const { buckets, seen, now } = position;
      // The steps of the former node are applied to their end before.
      if (buckets.some((bucket) => behind.has(bucket))) continue;
      if (isOfAnotherServer(seen, now)) {
        if (shards.isDistributed)
          throw new Error(`Node ${position.node} of Citus counts its transactions anew.`);
        await this.#startAnew(client, position);
        continue;
      }
      const first = await firstTransaction(client, position);
      const range = rangeAfter(seen, now, first);
      if (shards.isDistributed) {
        const isNew = first !== undefined || (await hasLateSteps(client, position));
        if (!isNew && position.node > 0) continue;
        const values = rangeValues(buckets, range);
        await withCopyOfSteps(client, shards, { range: IN_RANGE, values }, () =>
          reader.apply(client, buckets, range),
        );
      } else await reader.apply(client, buckets, range);
      await movePosition(client, reader.name, position, range.next);
      if (range.next !== now) for (const bucket of buckets) behind.add(bucket);
    }
    return behind.size === 0;
  }

  /** After a restore from a dump: reads all steps of the buckets again. */
  async #startAnew(client: PoolClient, position: Position): Promise<void> {
    const { reader, log } = this.#options;
    const { buckets, seen, now } = position;
    const facts = { reader: reader.name, buckets: buckets.length, seenUntil: String(seen.end) };
    log.warn(facts, "positions of followers are of another PostgreSQL server; all steps are read again");
    await client.query({ text: "SET LOCAL statement_timeout = 0" });
    const patient = patientClient(client);
    await forgetTransactions(patient, buckets, now.end);
    await reader.clear(patient, buckets);
    await reader.apply(patient, buckets, { from: 0n, until: now.end, late: [], running: [], next: now });
    await movePosition(client, reader.name, position, now);
  }
}

/** Time limit of a statement that reads all steps again. The pool ends other statements much earlier. */
const RESTART_MS = 4 * 3_600_000;

function patientClient(client: PoolClient): StepClient {
  const query = (text: string, values: unknown[]) =>
    client.query({ text, values, query_timeout: RESTART_MS } as { text: string; values: unknown[] });
  return { query: query as PoolClient["query"] };
}
