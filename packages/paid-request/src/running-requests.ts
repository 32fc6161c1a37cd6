// RunningRequests limits the requests of this process: in all, for each account, and for each key.
// Its ids exclude other processes, and its signals abort requests.
import type { ServiceError } from "@gr/proto";
import { overloaded, shareOfPlacesUsed } from "./errors.ts";

/**
 * Places of an account for each free place. Alone, an account gets three quarters of all places; two greedy accounts
 * get three sevenths each, so some places stay free for others. The same ratio limits a key against its account's
 * places, so that a leaked or runaway key does not block the account's other keys.
 */
const PLACES_PER_FREE_PLACE = 3;

/** Keeps a request in the set until `leave`. */
export interface Running {
  /** Aborts when the process must stop, or when the hold no longer belongs to this request. */
  readonly signal: AbortSignal;
  cancel(why: string): void;
  leave(): void;
}

export class RunningRequests {
  readonly #most: number;
  readonly #running = new Map<string, AbortController>();
  /** Requests with a waiting caller; the others are resolved or resumed. */
  #served = 0;
  /** Served requests of each account and of each key; no entry is 0. */
  readonly #servedOf = new Map<string, number>();
  #whenNone: (() => void) | undefined;

  /** @param most requests with a waiting caller, at a time */
  constructor(most: number) {
    this.#most = most;
  }

  get served(): number {
    return this.#served;
  }

  ids(): string[] {
    return [...this.#running.keys()];
  }

  has(id: string): boolean {
    return this.#running.has(id);
  }

  /**
   * Acquires a place for a caller.
   * @throws ServiceError provider_unavailable if no place is free, rate_limit_exceeded if the account or the key has its
   *   share of the places; Error when the id is running already
   */
  serve(id: string, accountId: string, keyId: string): Running {
    const keyPlace = `${accountId} ${keyId}`;
    const refusal = this.#refusalOf(accountId, keyPlace);
    if (refusal !== undefined) throw refusal;
    return this.#enter(id, accountId, keyPlace);
  }

  /** Admits a request without a caller, which needs no place. @throws Error if the id is running already */
  resolve(id: string): Running {
    return this.#enter(id);
  }

  cancel(id: string, why: string): void {
    this.#running.get(id)?.abort(new Error(why));
  }

  cancelAll(why: string): void {
    for (const controller of this.#running.values()) controller.abort(new Error(why));
  }

  /** Resolves when no request is running. */
  drained(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenNone = resolve;
    });
  }

  #refusalOf(accountId: string, keyPlace: string): ServiceError | undefined {
    const free = this.#most - this.#served;
    if (free <= 0) return overloaded();
    const freeToAccount = PLACES_PER_FREE_PLACE * free - (this.#servedOf.get(accountId) ?? 0);
    if (freeToAccount <= 0) return shareOfPlacesUsed("account");
    const ofKey = this.#servedOf.get(keyPlace) ?? 0;
    return ofKey >= PLACES_PER_FREE_PLACE * freeToAccount ? shareOfPlacesUsed("key") : undefined;
  }

  /** @param account and key: owners of the place; undefined without a place */
  #enter(id: string, account?: string, keyPlace?: string): Running {
    if (this.#running.has(id)) throw new Error(`request ${id} is running already`);
    const controller = new AbortController();
    this.#running.set(id, controller);
    this.#addServed(account, keyPlace, 1);
    let left = false;
    return {
      signal: controller.signal,
      cancel: (why) => controller.abort(new Error(why)),
      leave: () => {
        if (left) return;
        left = true;
        this.#running.delete(id);
        this.#addServed(account, keyPlace, -1);
        if (this.#running.size === 0) this.#whenNone?.();
      },
    };
  }

  #addServed(account: string | undefined, keyPlace: string | undefined, places: 1 | -1): void {
    if (account === undefined || keyPlace === undefined) return;
    this.#served += places;
    this.#count(account, places);
    this.#count(keyPlace, places);
  }

  #count(owner: string, places: 1 | -1): void {
    const served = (this.#servedOf.get(owner) ?? 0) + places;
    if (served === 0) this.#servedOf.delete(owner);
    else this.#servedOf.set(owner, served);
  }
}
