// LossBreaker closes the routes of providers that bill more than their requests pay. No other breaker may close the
// last route of a model: each further request there would cost more than its customer can pay. The state is in the
// memory of one process, so that no request waits for it; a restart reopens all routes.
import { type Credits, PICO_PER_CREDIT, PICO_PER_USD, type PicoUsd } from "@gr/money";
import type { Clock } from "@gr/runtime";
import type { Route } from "./order.ts";

/** Milliseconds after the last loss, when the route opens again. */
export const LOSS_COOL_DOWN_MS = 15 * 60_000;
/** Losses up to this size are rounding or recent price changes. */
const TOLERATED_LOSS: PicoUsd = PICO_PER_USD / 100n;
/** Losses up to this fraction of the covered amount close nothing. */
const TOLERATED_FRACTION = 10n;
/** A bill of more holds than this is a defect of the provider, and concerns all accounts. */
const RUNAWAY_HOLDS = 10n;

/** The money that covers a bill. */
export interface Cover {
  readonly accountId: string;
  /** Size of the hold when the request ended. */
  readonly held: Credits;
  /** Charge of a delivered answer; undefined after a failure, where our loss up to the hold is by design. */
  readonly charge: Credits | undefined;
}

export interface LossEvents {
  /** A route is closed because of a loss. @param accountId undefined: for all accounts */
  routeClosed(route: Route, accountId: string | undefined, loss: PicoUsd): void;
  /** An operator has opened a closed route. */
  routeReopened(route: Route): void;
}

export interface Closing {
  readonly route: Route;
  /** The only account for which the route is closed; undefined: all accounts. */
  readonly accountId: string | undefined;
  /** Unix milliseconds. */
  readonly reopensAt: number;
  /** Of the last bill. */
  readonly loss: PicoUsd;
}

export class LossBreaker {
  readonly #clock: Clock;
  readonly #events: LossEvents;
  /** One row a route: the loss of a second account closes the route for all. */
  readonly #closings = new Map<string, Closing>();

  constructor(clock: Clock, events: LossEvents) {
    this.#clock = clock;
    this.#events = events;
  }

  /** Compares the provider's bill of one request with the money that covers it. */
  recordBill(route: Route, { accountId, held, charge }: Cover, cost: PicoUsd): void {
    const covered = (charge ?? held) * PICO_PER_CREDIT;
    const loss = cost - covered;
    if (loss <= TOLERATED_LOSS || loss * TOLERATED_FRACTION <= covered) return;
    const before = this.#closingOf(route);
    const isRunaway = cost > RUNAWAY_HOLDS * held * PICO_PER_CREDIT;
    const isForAll = isRunaway || (before !== undefined && before.accountId !== accountId);
    const closedFor = isForAll ? undefined : accountId;
    const reopensAt = this.#clock.now() + LOSS_COOL_DOWN_MS;
    this.#closings.set(keyOf(route), { route, accountId: closedFor, reopensAt, loss });
    if (before === undefined || before.accountId !== closedFor) {
      this.#events.routeClosed(route, closedFor, loss);
    }
  }

  isClosed(route: Route, accountId: string): boolean {
    if (this.#closings.size === 0) return false;
    const closing = this.#closingOf(route);
    return closing !== undefined && (closing.accountId === undefined || closing.accountId === accountId);
  }

  /** Returns closed routes, for one account or for all. */
  closings(): readonly Closing[] {
    return [...this.#closings.values()].filter(({ route }) => this.#closingOf(route) !== undefined);
  }

  /** Opens a route before its cool-down ends. @returns false when it was not closed */
  reopen(route: Route): boolean {
    if (this.#closingOf(route) === undefined) return false;
    this.#closings.delete(keyOf(route));
    this.#events.routeReopened(route);
    return true;
  }

  #closingOf(route: Route): Closing | undefined {
    const key = keyOf(route);
    const closing = this.#closings.get(key);
    if (closing === undefined || closing.reopensAt > this.#clock.now()) return closing;
    this.#closings.delete(key);
    return undefined;
  }
}

/** @returns closed routes of each provider, 0 where none is closed */
export function countByProvider(
  providers: readonly string[],
  closings: readonly Closing[],
): ReadonlyMap<string, number> {
  return new Map(
    providers.map((name) => [name, closings.filter(({ route }) => route.provider === name).length] as const),
  );
}

function keyOf({ provider, upstreamModel }: Route): string {
  return `${provider}\n${upstreamModel}`;
}
