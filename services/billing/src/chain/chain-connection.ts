// Chain connection owns the flushes of one writer: it decides on the accounts in its memory and stores the steps in one
// statement. The table's key refuses steps that follow another state than the stored one; then it reads and decides again.
import type { Account, Id, Outcome, Step, Terms } from "@gr/ledger";
import { ServiceError } from "@gr/proto";
import {
  type Clock,
  isConnectionError,
  type Logger,
  type Pool,
  type PoolClient,
  pause,
  sqlStateOf,
} from "@gr/runtime";
import { groupByShard } from "../shards/shard-store.ts";
import type { ClockCheck } from "../writer/clock-check-store.ts";
import { OneConnection } from "../writer/one-connection.ts";
import { AccountWork, type Asked } from "./account-work.ts";
import { bucketOf } from "./bucket.ts";
import {
  type AccountCache,
  type CachedAccount,
  type Confirmation,
  keepInCache,
  newAccountCache,
} from "./cached-account.ts";
import { type ChainOperation, runsOf } from "./chain-operation.ts";
import { findBeginnings, findClaims, findHolds } from "./look-ups.ts";
import { catchUp, isStateDue, startCold, storeState } from "./state-store.ts";
import { type Flush, prepareForFlushes, type RowTypes, writeFlush } from "./step-store.ts";

/** Unique violation, serialization failure, deadlock: the transaction wrote nothing, and another writer was first. */
const LOST_RACE = new Set(["23505", "40001", "40P01"]);
/** Decisions about one account in one flush. */
const MOST_ROUNDS = 50;
/** Rounds without a pause between them. */
const EAGER_ROUNDS = 3;
const MOST_PAUSE_MS = 10;
/** States that are stored before one flush. */
const MOST_STATES = 4;
const STOPWATCH: Clock = { now: () => performance.now() };
const CACHE_BYTES = 256 * 2 ** 20;

/** Copies of budgets that can refuse a place of an account that memory lacks. */
export interface KnownCopies {
  /** Receives an account and its latest steps, which are stored. */
  noteStored(account: Account, steps: readonly Step[]): void;
  /** Ends all confirmations: a step whose answer was lost may be stored. */
  forgetConfirmations(): void;
  /** @returns works with answers, for accounts of which copies refuse each operation and PostgreSQL has no newer step */
  refuse(client: PoolClient, asked: readonly Asked[], terms: Terms): Promise<readonly AccountWork[]>;
}

export interface ChainOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  /** Places of zero credits of an account in one UTC day, at most; null = no limit. */
  readonly freeLimit: number | null;
  readonly log: Logger;
  /** Refuses flushes while the clock is wrong; absent: every clock is right. */
  readonly clockCheck?: ClockCheck;
  /** Absent: each account is read before its first answer. */
  readonly copies?: KnownCopies;
  /** Approximate memory of cached accounts; 256 MiB if absent. */
  readonly cacheBytes?: number;
  /** Milliseconds that never run back; those of this process if absent. */
  readonly stopwatch?: Clock;
  /** Resolves after so many milliseconds; in real time if absent. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Steps of an account between two of its stored states; 1,000 if absent. */
  readonly stepsBetweenStates?: number;
  /** Called with the number of places that were refused without a statement. */
  readonly refusedFromMemory?: (places: number) => void;
  /** Called for each flush that another writer's steps or locks have refused. */
  readonly lostRace?: (error: unknown) => void;
}

export class ChainConnection {
  readonly #options: ChainOptions;
  readonly #connection: OneConnection<RowTypes>;
  readonly #cache: AccountCache;
  /** Accounts with so many new steps that their state is stored before the next flush. The cache may have deleted them. */
  readonly #due = new Map<Id, CachedAccount>();

  constructor(options: ChainOptions) {
    this.#options = options;
    this.#connection = new OneConnection(options.pool, (client) => this.#prepare(client), options.log);
    this.#cache = newAccountCache(options.cacheBytes ?? CACHE_BYTES);
  }

  /**
   * Answers the operations in order. Operations of several runs are stored in several transactions; each may be repeated.
   * @throws an error of the connection after which the steps may be stored or not
   */
  async post(operations: readonly ChainOperation[]): Promise<Outcome[]> {
    await this.#storeDueStates();
    const outcomes: Outcome[] = [];
    for (const run of runsOf(operations)) outcomes.push(...(await this.#postRun(run)));
    return outcomes;
  }

  close(): void {
    this.#connection.close();
  }

  /** A new connection can lead to a promoted standby without the latest commits, so memory could be ahead of the table. */
  async #prepare(client: PoolClient): Promise<RowTypes> {
    this.#cache.clear();
    this.#due.clear();
    this.#options.copies?.forgetConfirmations();
    return await prepareForFlushes(client);
  }

  /** After a failed flush the memory of its accounts may differ from the table, so it is deleted. */
  async #postRun(operations: readonly ChainOperation[]): Promise<Outcome[]> {
    try {
      return await this.#connection.use((client, types) => this.#flush(client, types, operations));
    } catch (error) {
      for (const { accountId } of operations) {
        this.#cache.delete(accountId);
        this.#due.delete(accountId);
      }
      throw error;
    }
  }

  async #flush(
    client: PoolClient,
    types: RowTypes,
    operations: readonly ChainOperation[],
  ): Promise<Outcome[]> {
    const { wait = pause, stepsBetweenStates, clockCheck } = this.#options;
    await clockCheck?.requireRightClock(client);
    const asked = operations.map((operation, index) => ({ operation, index }));
    const outcomes: (Outcome | undefined)[] = operations.map(() => undefined);
    const refused = await this.#refuseByCopies(client, asked);
    for (const work of refused) work.answer(outcomes);
    const answeredIds = new Set(refused.map(({ account }) => account.id));
    const works = await this.#worksOf(
      client,
      asked.filter(({ operation }) => !answeredIds.has(operation.accountId)),
    );
    let open: readonly AccountWork[] = [...works.values()];
    for (let round = 1; open.length > 0; round += 1) {
      if (round > MOST_ROUNDS) throw tooManyWriters();
      if (round > EAGER_ROUNDS) await wait(Math.random() * MOST_PAUSE_MS);
      const left: AccountWork[] = [];
      for (const group of groupByShard(types.shards, open, ({ account }) => bucketOf(account.id))) {
        const final = await this.#decideAndStore(client, types, group);
        for (const work of final) work.answer(outcomes);
        left.push(...group.filter((work) => !final.has(work)));
      }
      open = left;
    }
    const accounts = Array.from(works.values(), ({ cached }) => cached);
    keepInCache(this.#cache, accounts);
    for (const cached of accounts) {
      if (isStateDue(cached, stepsBetweenStates)) this.#due.set(cached.account.id, cached);
    }
    return outcomes.map(answered);
  }

  async #refuseByCopies(client: PoolClient, asked: readonly Asked[]): Promise<readonly AccountWork[]> {
    const cold = asked.filter(({ operation }) => !this.#cache.has(operation.accountId));
    const { copies } = this.#options;
    if (copies === undefined || cold.length === 0) return [];
    const refused = await copies.refuse(client, cold, this.#terms());
    this.#countRefused(refused);
    return refused;
  }

  #countRefused(works: readonly AccountWork[]): void {
    const places = works.reduce((sum, { asked }) => sum + asked.length, 0);
    if (places > 0) this.#options.refusedFromMemory?.(places);
  }

  async #worksOf(client: PoolClient, asked: readonly Asked[]): Promise<Map<Id, AccountWork>> {
    const ids = [...new Set(asked.map(({ operation }) => operation.accountId))];
    const known = new Map<Id, CachedAccount>();
    for (const id of ids) {
      const cached = this.#cache.get(id);
      if (cached !== undefined) known.set(id, cached);
    }
    const cold = ids.filter((id) => !known.has(id));
    if (cold.length > 0) for (const [id, cached] of await startCold(client, cold)) known.set(id, cached);
    const works = new Map(Array.from(known, ([id, cached]) => [id, new AccountWork(cached)]));
    for (const each of asked) works.get(each.operation.accountId)?.asked.push(each);
    return works;
  }

  /** @returns accounts with final answers: their steps are stored, or no newer step is */
  async #decideAndStore(
    client: PoolClient,
    types: RowTypes,
    works: readonly AccountWork[],
  ): Promise<ReadonlySet<AccountWork>> {
    await findClaims(client, new Map(works.map((work) => [work, work.unreadKeys()])));
    for (const work of works) await this.#decide(client, work);
    const writing = works.filter(({ steps }) => steps.length > 0);
    if (!(await this.#store(client, types, writing))) {
      await this.#afterLostRace(client, works);
      return new Set();
    }
    for (const work of writing) {
      work.noteStored();
      this.#options.copies?.noteStored(work.account, work.steps);
    }
    const silent = works.filter(({ steps }) => steps.length === 0);
    const refused = silent.filter((work) => this.#isRefusedFromMemory(work));
    this.#countRefused(refused);
    const unconfirmed = silent.filter((work) => !refused.includes(work));
    const now = this.#now();
    const changed = await catchUp(
      client,
      unconfirmed.map(({ cached }) => cached),
    );
    for (const { cached } of [...writing, ...unconfirmed]) cached.confirmed = now;
    return new Set(works.filter(({ cached }) => !changed.has(cached)));
  }

  /** A flood of hopeless places reads an account once a second. */
  #isRefusedFromMemory(work: AccountWork): boolean {
    return work.answered.size === 0 && work.isHopeless() && work.isRecentAndNew(this.#now().stopwatch);
  }

  #now(): Confirmation {
    const { clock, stopwatch = STOPWATCH } = this.#options;
    return { stopwatch: stopwatch.now(), clock: clock.now() };
  }

  async #decide(client: PoolClient, work: AccountWork): Promise<void> {
    for (;;) {
      const missing = work.decide(this.#terms());
      if (missing.length === 0) return;
      await findHolds(client, work, missing);
    }
  }

  /** @returns whether the steps are stored */
  async #store(client: PoolClient, types: RowTypes, works: readonly AccountWork[]): Promise<boolean> {
    if (works.length === 0) return true;
    try {
      await writeFlush(client, flushOf(works), types);
      return true;
    } catch (error) {
      if (!LOST_RACE.has(sqlStateOf(error) ?? "")) throw error;
      this.#options.lostRace?.(error);
      return false;
    }
  }

  async #afterLostRace(client: PoolClient, works: readonly AccountWork[]): Promise<void> {
    for (const work of works) work.undo();
    await catchUp(
      client,
      works.map(({ cached }) => cached),
    );
    await findBeginnings(client, works);
    await findClaims(client, new Map(works.map((work) => [work, claimedKeys(work)])));
  }

  /**
   * After the loss of the connection a state stays due. A state that PostgreSQL refuses is due again after as many further steps, so it
   * delays no state of another account.
   */
  async #storeDueStates(): Promise<void> {
    for (const [id, cached] of [...this.#due].slice(0, MOST_STATES)) {
      try {
        await this.#connection.use(async (client) => {
          if (this.#due.get(id) === cached) await storeState(client, cached);
        });
        cached.isRefused = false;
      } catch (error) {
        if (isConnectionError(error)) return;
        if (!cached.isRefused) {
          const message = "the state of an account cannot be stored; its cold starts read more steps";
          this.#options.log.error({ err: error, accountId: id }, message);
        }
        cached.isRefused = true;
        cached.storedSeq = cached.account.seq;
      }
      this.#due.delete(id);
    }
  }

  #terms(): Terms {
    return { now: Math.floor(this.#options.clock.now()), freeLimit: this.#options.freeLimit };
  }
}

function flushOf(works: readonly AccountWork[]): Flush {
  const sorted = works.toSorted((one, other) => compare(orderOf(one), orderOf(other)));
  return {
    steps: sorted.flatMap(({ steps }) => steps),
    claims: sorted.flatMap((work) => work.claimRows()),
    answers: sorted.flatMap((work) => work.answerRows()),
  };
}

/** @returns a text that sorts by bucket, which is the last byte of the id, then by id */
function orderOf({ account: { id } }: AccountWork): string {
  return id.slice(-2) + id;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function claimedKeys({ asked }: AccountWork): string[] {
  return asked.flatMap(({ operation }) =>
    operation.kind === "place" && operation.claim !== undefined ? [operation.claim.key] : [],
  );
}

function answered(outcome: Outcome | undefined, index: number): Outcome {
  if (outcome === undefined) throw new Error(`Operation ${index} of a batch has no outcome.`);
  return outcome;
}

function tooManyWriters(): ServiceError {
  const message = "Too many processes write to the same account; try again shortly.";
  return new ServiceError("billing_unavailable", message, { retryAfterMs: 1_000 });
}
