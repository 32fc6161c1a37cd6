// BillSearch polls providers for bills that are still missing: soon after a lost outcome, and later after a release
// without a bill. Durable records and deadlines do not depend on it. It frees money earlier, and books costs that no
// other code looks for.
import { type Billing, ReleaseReason } from "@gr/clients";
import type { PicoUsd } from "@gr/money";
import type { Timer } from "@gr/runtime";
import type { Cover, LossBreaker } from "./loss-breaker.ts";
import { BILLED_WITHOUT_ANSWER } from "./lost-request.ts";
import type { Released, Route } from "./order.ts";
import type { Kinds, LookUp, PaidRequestEvents } from "./ports.ts";

/** Searches at a time. A dropped search costs our books a bill, but costs no customer anything. */
const MOST_SEARCHES = 10_000;
const DAY_MS = 86_400_000;

export interface SearchPauses {
  /**
   * Milliseconds before each look-up for a hold that is still open; afterwards the hold waits for its deadline. Pauses
   * of a day or longer have their own limit and end with the process, because they exist only in memory.
   */
  readonly open: readonly number[];
  /** Pauses after the release of a failed request without the provider's cost. */
  readonly failed: readonly number[];
  /** Pauses after a release because no bill was found. */
  readonly unresolved: readonly number[];
}

export const SEARCH_PAUSES: SearchPauses = {
  open: [1_000, 4_000],
  failed: [1_000, 4_000, 55_000, 540_000, DAY_MS],
  unresolved: [60_000, 540_000, 3_000_000, DAY_MS],
};

export interface Searched {
  readonly id: string;
  readonly route: Route;
  /** The provider's own id; empty if the provider sent none. */
  readonly billId: string;
  /** The order's `severalBills`. */
  readonly hasSeveralBills: boolean | undefined;
  /** The cost that our books hold already; undefined while the hold is open. */
  readonly booked: PicoUsd | undefined;
  readonly cover: Cover;
}

interface BillSearchDeps<K extends Kinds> {
  readonly billing: Billing;
  readonly lookUp: LookUp<K>;
  readonly events: PaidRequestEvents<K>;
  readonly clock: Timer;
  readonly losses: LossBreaker;
}

export class BillSearch<K extends Kinds> {
  readonly #billing: Billing;
  readonly #lookUp: LookUp<K>;
  readonly #events: PaidRequestEvents<K>;
  readonly #clock: Timer;
  readonly #losses: LossBreaker;
  readonly #pauses: SearchPauses;
  readonly #stopping = new AbortController();
  #running = 0;
  /** Searches that wait for their look-up a day later. */
  #waiting = 0;

  constructor({ billing, lookUp, events, clock, losses }: BillSearchDeps<K>, pauses: SearchPauses) {
    this.#billing = billing;
    this.#lookUp = lookUp;
    this.#events = events;
    this.#clock = clock;
    this.#losses = losses;
    this.#pauses = pauses;
  }

  /** @param found ends the request with the cost that was found */
  forOpen(searched: Searched, found: (released: Released) => Promise<void>): void {
    void this.#search(searched, this.#pauses.open, (cost) => {
      const message = "the provider billed it, and no client received its answer";
      return found({
        kind: "released",
        reason: ReleaseReason.FAILED,
        cost,
        provider: searched.route.provider,
        why: BILLED_WITHOUT_ANSWER,
        message,
      });
    });
  }

  /** Searches for bills of an ended request: it failed, or its cost was metered. */
  forEnded(searched: Searched): void {
    void this.#search(searched, this.#pauses.failed, this.#late(searched));
  }

  /**
   * Searches for the bill of an attempt that had a metered cost and a successor.
   * @param book reports the cost to billing
   */
  forEarlier(searched: Searched, book: (cost: PicoUsd) => Promise<unknown>): void {
    void this.#search(searched, this.#pauses.failed, this.#late(searched, book));
  }

  forUnresolved(searched: Searched): void {
    void this.#search(searched, this.#pauses.unresolved, this.#late(searched));
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #search(
    { id, route, billId, hasSeveralBills, booked: before, cover }: Searched,
    pauses: readonly number[],
    book: (cost: PicoUsd, more: PicoUsd) => Promise<void>,
  ): Promise<void> {
    const { provider } = route;
    if (this.#running >= MOST_SEARCHES || !this.#lookUp.canAsk(provider)) return;
    this.#running += 1;
    let booked = before;
    try {
      for (const pause of pauses) {
        if (!(await this.#pause(pause)) || this.#stopping.signal.aborted) return;
        const found = await this.#lookUp.ask(provider, billId === "" ? id : billId);
        if (typeof found !== "object") continue;
        const { cost } = found;
        this.#losses.recordBill(route, cover, cost);
        if (booked === undefined || cost > booked) {
          const more = cost - (booked ?? 0n);
          if (!(await this.#booked(id, () => book(cost, more)))) continue;
          booked = cost;
        }
        // With several bills, the first one found may not be all.
        if (hasSeveralBills !== true) return;
      }
    } finally {
      this.#running -= 1;
    }
  }

  /** @returns false when too many searches wait for a day already */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#stopping;
    const isLong = ms >= DAY_MS;
    if (isLong && this.#waiting >= MOST_SEARCHES) return false;
    if (isLong) {
      this.#waiting += 1;
      this.#running -= 1;
    }
    await this.#clock.sleep(ms, signal);
    if (isLong) {
      this.#waiting -= 1;
      this.#running += 1;
    }
    return true;
  }

  /** Books a cost. After a failure the next pause retries it. */
  async #booked(id: string, book: () => Promise<void>): Promise<boolean> {
    try {
      await book();
      return true;
    } catch (error) {
      this.#events.notBooked(id, error);
      return false;
    }
  }

  /** Returns a booking for a hold that is resolved or at a later attempt: billing books any surplus as late. */
  #late(
    { id, route, cover: { accountId } }: Searched,
    book = (cost: PicoUsd): Promise<unknown> =>
      this.#billing.release({ accountId, holdId: id }, ReleaseReason.FAILED, cost, route.provider),
  ) {
    return async (cost: PicoUsd, more: PicoUsd) => {
      await book(cost);
      this.#events.lateBill(id, more);
    };
  }
}
