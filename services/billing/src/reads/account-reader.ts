// Account reader owns the reads of single accounts: each answer is about the steps that were stored before its question. It has
// a memory of its own, so reads never wait for the writer, nor the writer for them.
import type { Account, Facts, Id, Missing } from "@gr/ledger";
import { ServiceError } from "@gr/proto";
import { type Batcher, createBatcher, type Pool, type PoolClient } from "@gr/runtime";
import { AccountWork } from "../chain/account-work.ts";
import {
  type AccountCache,
  type CachedAccount,
  keepInCache,
  newAccountCache,
} from "../chain/cached-account.ts";
import { findClaims, findHolds } from "../chain/look-ups.ts";
import { catchUp, catchUpOrLose, startCold } from "../chain/state-store.ts";

/** An answer, or the facts that it needs beside the account. */
export type Answered<Answer> =
  | { readonly answer: Answer }
  | { readonly missing: Missing | { readonly holds: readonly Id[] } };

/** It may be asked several times, and changes nothing. An account with the number 0 is not open. */
export type Question<Answer> = (account: Account, facts: Facts) => Answered<Answer>;

interface Asked {
  readonly accountId: Id;
  /** Asks until there is an answer. */
  readonly answer: (client: PoolClient, work: AccountWork) => Promise<unknown>;
}

type Result = { readonly value: unknown } | { readonly error: unknown };

const CACHE_BYTES = 64 * 2 ** 20;
/** Questions that one connection answers together. */
const MOST_QUESTIONS = 200;
const MOST_WAITING = 10_000;

export class AccountReader {
  readonly #pool: Pool;
  readonly #cache: AccountCache;
  readonly #questions: Batcher<Asked, Result>;

  /** @param cacheBytes approximate memory of cached accounts; 64 MiB if absent */
  constructor(pool: Pool, cacheBytes = CACHE_BYTES) {
    this.#pool = pool;
    this.#cache = newAccountCache(cacheBytes);
    this.#questions = createBatcher((asked) => this.#answer(asked), {
      maxBatch: MOST_QUESTIONS,
      maxQueue: MOST_WAITING,
      overflow: () =>
        new ServiceError("billing_unavailable", "Billing has more reads than it can do; try again shortly.", {
          retryAfterMs: 1_000,
        }),
    });
  }

  async ask<Answer>(accountId: Id, question: Question<Answer>): Promise<Answer> {
    const result = await this.#questions({
      accountId,
      answer: (client, work) => answerOf(client, work, question),
    });
    if ("error" in result) throw result.error;
    return result.value as Answer;
  }

  /** A failed read leaves no account of it in memory. */
  async #answer(asked: readonly Asked[]): Promise<Result[]> {
    const ids = [...new Set(asked.map(({ accountId }) => accountId))];
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    try {
      const accounts = await this.#load(client, ids);
      const results: Result[] = [];
      for (const { accountId, answer } of asked) {
        const cached = accounts.get(accountId);
        if (cached === undefined) throw new Error(`Account ${accountId} was not loaded.`);
        const work = new AccountWork(cached);
        results.push(
          await answer(client, work).then(
            (value) => ({ value }),
            (error) => ({ error }),
          ),
        );
      }
      keepInCache(this.#cache, accounts.values());
      return results;
    } catch (error) {
      for (const id of ids) this.#cache.delete(id);
      broken = error instanceof Error ? error : undefined;
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #load(client: PoolClient, ids: readonly Id[]): Promise<Map<Id, CachedAccount>> {
    const known = new Map<Id, CachedAccount>();
    for (const id of ids) {
      const cached = this.#cache.get(id);
      if (cached !== undefined) known.set(id, cached);
    }
    for (const { account } of await catchUpOrLose(client, [...known.values()])) known.delete(account.id);
    const cold = ids.filter((id) => !known.has(id));
    if (cold.length > 0) for (const [id, cached] of await startCold(client, cold)) known.set(id, cached);
    return known;
  }
}

/** After a look-up the newer steps are read, too, so account and facts are of one moment. */
async function answerOf<Answer>(
  client: PoolClient,
  work: AccountWork,
  question: Question<Answer>,
): Promise<Answer> {
  const { cached, account, absentHolds } = work;
  for (;;) {
    const answered = question(account, { absentHolds, claims: cached.claims });
    if ("answer" in answered) return answered.answer;
    const { missing } = answered;
    if ("claim" in missing) await findClaims(client, new Map([[work, [missing.claim]]]));
    else await findHolds(client, work, "hold" in missing ? [missing.hold] : missing.holds);
    if ((await catchUp(client, [cached])).size > 0) absentHolds.clear();
  }
}
