// Cached account owns the copy of one account in the memory of a writer, between two of its flushes. It is never ahead of the
// table: `noteStep` and `keepInCache` run for steps that are stored.
import { type Account, apply, type Id, newAccount, type Step } from "@gr/ledger";
import { LRUCache } from "lru-cache";
import type { ClaimRow } from "./claim-store.ts";

/** Ended holds, and claims, of an account in memory, at most and at least. Older ones are read again. */
const MOST_ENDED = 512;
const LEAST_ENDED = 8;
/** Ended holds, and claims, of all accounts in memory. */
const ENDED_OF_ALL = 100_000;

/** Approximate bytes of the parts of an account. */
const BYTES = { account: 1_500, budget: 800, hold: 900, claim: 500 };

export interface CachedAccount {
  readonly account: Account;
  /** Number of the step after which the state was stored, or refused by PostgreSQL; 0 = never. */
  storedSeq: number;
  /** PostgreSQL refused the state. */
  isRefused: boolean;
  /** Times at which memory last equalled the table; of a stopwatch, and of the clock. */
  confirmed: Confirmation;
  /** Numbers of the budgets that changed since the state was stored. */
  readonly changed: Set<number>;
  /** Number of times at which a stored state has replaced the memory. */
  jumps: number;
  /** Latest owners by Idempotency-Key; null = the key has no owner. Keys without an element have to be read. */
  readonly claims: Map<string, ClaimRow | null>;
}

export interface Confirmation {
  /** Milliseconds of a stopwatch, which never runs back. */
  readonly stopwatch: number;
  /** Unix milliseconds. */
  readonly clock: number;
}

export type AccountCache = LRUCache<Id, CachedAccount>;

/** @param mostBytes approximate memory of all accounts. The account that was used least recently is deleted first. */
export function newAccountCache(mostBytes: number): AccountCache {
  return new LRUCache({ maxSize: mostBytes, sizeCalculation: bytesOf });
}

export function newCachedAccount(id: Id): CachedAccount {
  const memory = { account: newAccount(id), changed: new Set<number>(), claims: new Map() };
  return { ...memory, storedSeq: 0, isRefused: false, confirmed: NEVER, jumps: 0 };
}

export const NEVER: Confirmation = { stopwatch: Number.NEGATIVE_INFINITY, clock: 0 };

/**
 * Puts accounts into the cache with their present size, after their steps are stored. Deletes the oldest ended holds and
 * claims above the share of each.
 */
export function keepInCache(cache: AccountCache, accounts: Iterable<CachedAccount>): void {
  for (const cached of accounts) {
    forget(cached, cache.size);
    cache.delete(cached.account.id);
    cache.set(cached.account.id, cached);
  }
}

/** Applies a step that another writer has stored. Its claim replaces the owner in memory. */
export function replay(cached: CachedAccount, step: Step): void {
  apply(cached.account, step);
  noteStep(cached, step);
  if (step.claim !== null) cached.claims.delete(step.claim.key);
}

/** Replaces the memory by a stored state of a later step: ended holds and claims are read again. */
export function jump(cached: CachedAccount, later: CachedAccount): void {
  const { budgets, budgetNumbers, open, ended, ...totals } = later.account;
  const { account } = cached;
  Object.assign(account, totals);
  account.budgets.splice(0, account.budgets.length, ...budgets);
  refill(account.budgetNumbers, budgetNumbers);
  refill(account.open, open);
  refill(account.ended, ended);
  cached.storedSeq = later.storedSeq;
  cached.changed.clear();
  cached.claims.clear();
  cached.jumps += 1;
}

function refill<Key, Value>(map: Map<Key, Value>, entries: ReadonlyMap<Key, Value>): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}

/** Notes a stored step that the account already contains. */
export function noteStep({ account, changed }: CachedAccount, step: Step): void {
  for (const { budget } of step.budgets) changed.add(budget);
  const defined = step.kind === "budget" ? account.budgetNumbers.get(step.id) : undefined;
  if (defined !== undefined) changed.add(defined);
}

/** @param accounts number of accounts in memory */
function forget({ account, claims }: CachedAccount, accounts: number): void {
  const share = Math.max(LEAST_ENDED, Math.min(MOST_ENDED, Math.floor(ENDED_OF_ALL / Math.max(accounts, 1))));
  shorten(account.ended, share);
  shorten(claims, share);
}

function shorten(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}

function bytesOf({ account, claims }: CachedAccount): number {
  const { budgets, open, ended } = account;
  const holds = open.size + ended.size;
  return BYTES.account + budgets.length * BYTES.budget + holds * BYTES.hold + claims.size * BYTES.claim;
}
