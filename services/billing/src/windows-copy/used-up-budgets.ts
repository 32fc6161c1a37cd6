// Used-up budgets own the copies by which this process refuses places of accounts that it does not have in memory. A refusal needs the
// ledger's own decision on the copy, and PostgreSQL's word of the last second that no newer step exists. A copy admits nothing.
import type { Account, Id, Step, Terms } from "@gr/ledger";
import type { Clock, PoolClient } from "@gr/runtime";
import { LRUCache } from "lru-cache";
import { AccountWork, type Asked } from "../chain/account-work.ts";
import { type CachedAccount, NEVER, newCachedAccount } from "../chain/cached-account.ts";
import type { KnownCopies } from "../chain/chain-connection.ts";
import { isLatest } from "../chain/state-store.ts";
import { readBeginnings } from "../chain/step-store.ts";
import { readLatestSteps } from "./latest-step-store.ts";
import { copyOf, isUsedUp, lowestBudgets, type WindowCopy } from "./window-copy.ts";

/** Accounts with copies, at most. The account that was used least recently is deleted first. */
const MOST_ACCOUNTS = 10_000;
/** Copies of one account, at most: the budgets that were used up by its latest step. */
const MOST_OF_ACCOUNT = 8;

export interface UsedUpBudgetsOptions {
  readonly clock: Clock;
  /** Milliseconds that never run back. */
  readonly stopwatch: Clock;
  /** Receives each copy of a commit. */
  readonly sendCopy?: (copy: WindowCopy, isUsedUp: boolean) => void;
}

/** Copies of one account after one of its steps, by lowest budget. */
interface Copies {
  readonly seq: number;
  readonly byBudget: Map<Id, CachedAccount>;
}

export class UsedUpBudgets implements KnownCopies {
  readonly #options: UsedUpBudgetsOptions;
  // With `max` it would allocate all places at once.
  readonly #accounts = new LRUCache<Id, Copies>({ maxSize: MOST_ACCOUNTS, sizeCalculation: () => 1 });

  constructor(options: UsedUpBudgetsOptions) {
    this.#options = options;
  }

  /** Adds a copy, unless one of a later step is known. */
  add({ account, budgetId }: WindowCopy): void {
    const { id, seq } = account;
    const known = this.#accounts.get(id);
    if (known !== undefined && known.seq > seq) return;
    const byBudget = known?.seq === seq ? known.byBudget : new Map<Id, CachedAccount>();
    if (byBudget.size < MOST_OF_ACCOUNT) byBudget.set(budgetId, { ...newCachedAccount(id), account });
    this.#accounts.set(id, { seq, byBudget });
  }

  noteStored(account: Account, steps: readonly Step[]): void {
    const { clock, sendCopy } = this.#options;
    // Copies of an earlier step refuse nothing any more.
    this.#accounts.delete(account.id);
    for (const budgetId of lowestBudgets(account, steps)) {
      const isFull = isUsedUp({ account, budgetId }, clock.now());
      if (!isFull && sendCopy === undefined) continue;
      const copy = copyOf(account, budgetId);
      if (isFull) this.add(copy);
      sendCopy?.(copy, isFull);
    }
  }

  forgetConfirmations(): void {
    for (const { byBudget } of this.#accounts.values())
      for (const cached of byBudget.values()) cached.confirmed = NEVER;
  }

  async refuse(client: PoolClient, asked: readonly Asked[], terms: Terms): Promise<AccountWork[]> {
    if (this.#accounts.size === 0) return [];
    const byAccount = Map.groupBy(asked, ({ operation }) => operation.accountId);
    const works = Array.from(byAccount, ([id, own]) => this.#hopelessWorks(id, own, terms)).flat();
    const doubtful = await this.#confirm(client, works);
    return works.filter(({ account }) => !doubtful.has(account.id));
  }

  /** @returns none unless copies refuse all operations of the account */
  #hopelessWorks(accountId: Id, asked: readonly Asked[], terms: Terms): AccountWork[] {
    const copies = this.#accounts.get(accountId);
    const works: AccountWork[] = [];
    const byBudget = Map.groupBy(asked, ({ operation }) =>
      "budgetId" in operation ? operation.budgetId : undefined,
    );
    for (const [budgetId, own] of byBudget) {
      const cached = budgetId === undefined ? undefined : copies?.byBudget.get(budgetId);
      if (cached === undefined) return [];
      const work = new AccountWork(cached);
      work.asked.push(...own);
      const isHopeless = work.decide(terms).length === 0 && work.isHopeless();
      if (!isHopeless) {
        work.undo();
        return [];
      }
      works.push(work);
    }
    return works;
  }

  /**
   * Reads the latest steps, and searches for places that are repeats, unless a confirmation of the last second is younger than the places.
   * Returns accounts with a newer step, whose copies it deletes, and accounts with a repeat.
   */
  async #confirm(client: PoolClient, works: readonly AccountWork[]): Promise<ReadonlySet<Id>> {
    const { clock, stopwatch } = this.#options;
    const now = { stopwatch: stopwatch.now(), clock: clock.now() };
    const due = works.filter((work) => !work.isRecentAndNew(now.stopwatch));
    const doubtful = new Set<Id>();
    if (due.length === 0) return doubtful;
    const latest = await readLatestSteps(client, [...new Set(due.map(({ account }) => account.id))]);
    for (const { account, cached } of due) {
      cached.confirmed = now;
      if (isLatest(account, latest.get(account.id))) continue;
      doubtful.add(account.id);
      this.#accounts.delete(account.id);
    }
    const places = due.flatMap((work) => work.holdIds().map((id) => ({ accountId: work.account.id, id })));
    const known = new Set((await readBeginnings(client, places)).map(({ id }) => id));
    for (const { accountId, id } of places) if (known.has(id)) doubtful.add(accountId);
    return doubtful;
  }
}
