// Ports are the interfaces that a service implements for paid requests: producer, look-up, record and events.
// The library decides everything else about money, in the same way for all services.
import type { LeasedHold } from "@gr/clients";
import type { Credits, PicoUsd } from "@gr/money";
import type { ServiceError } from "@gr/proto";
import type { LossEvents } from "./loss-breaker.ts";
import type { Bill, Ending, Order, Route } from "./order.ts";

/** Types of a service: its order, its product for the caller, its bill, and the bill that its look-up finds. */
export interface Kinds {
  order: Order;
  product: unknown;
  bill: Bill;
  found: FoundBill;
}

/** Bill in a provider's reply to a look-up. */
export interface FoundBill {
  readonly cost: PicoUsd;
}

/** Produces the answer of one request. */
export interface Producer<K extends Kinds> {
  /**
   * Providers that can do the work, best first. A later one is tried only after an attempt that ends with `fallBack`.
   */
  readonly routes: readonly [Route, ...Route[]];
  /**
   * Does the work that needs the hold and can fail for the caller; absent if there is none. Until it resolves, nothing
   * is recorded or sent.
   * @param signal aborts when the process must stop. @throws ServiceError for the caller; the hold is released
   */
  prepare?(signal: AbortSignal): Promise<void>;
  /** Sends the request and resolves with its end. A thrown error counts as an unknown outcome. */
  attempt(route: Route, context: AttemptContext): Promise<AttemptEnd<K> | Broken<K>>;
}

export interface AttemptContext {
  /** From 1. */
  readonly number: number;
  /** Aborts when the process must stop, or when the hold no longer belongs to this request. */
  readonly signal: AbortSignal;
  /** Size of the hold when the attempt begins. */
  readonly held: Credits;
  /**
   * Reserves more credits while the work continues. Never rejects.
   * @param least minimum new size of the whole hold. @param most maximum new size
   */
  extend(least: Credits, most?: Credits): Promise<Extension>;
}

/** Current size of the hold; or the reason for a refusal, after which nothing more may be spent. */
export type Extension = { readonly held: Credits } | { readonly refused: ServiceError };

/** End of one attempt. The library decides about the hold afterwards. */
export type AttemptEnd<K extends Kinds> = Delivered<K> | Failed | Unknown;

/** The caller has an answer, or can fetch it. The caller pays, no matter which side ended it. */
export interface Delivered<K extends Kinds> {
  readonly kind: "delivered";
  /** The bill as reported by the provider; undefined if a look-up must find it. */
  readonly bill: K["bill"] | undefined;
  /** The provider's own id of the work; empty if the provider sent none. */
  readonly billId: string;
  /** Returns the bill. @param found undefined if the provider reports none: then the bill is as metered */
  billOf(found: K["found"] | undefined): K["bill"];
  /** Returns the complete answer for the caller. Called once, before the capture, because it may be kept by then. */
  productOf(bill: K["bill"]): K["product"];
}

/** Nothing was delivered: the caller pays nothing. */
export interface Failed {
  readonly kind: "failed";
  /** Error for the caller. */
  readonly error: ServiceError;
  /** Cost that the provider billed nevertheless; undefined if it is unknown: then a search for the bill follows. */
  readonly cost: PicoUsd | undefined;
  /** True if the cost is only metered, because the provider reported none: a search for the bill follows too. */
  readonly isMetered?: boolean;
  readonly billId: string;
  /** True if no byte was sent. */
  readonly isUnsent: boolean;
  /** The provider has surely not begun, nothing reached the caller, and another provider may succeed. */
  readonly mayFallBack: boolean;
  readonly why: string;
  readonly message: string;
}

/** It is uncertain whether the provider did the work and billed it. */
export interface Unknown {
  readonly kind: "unknown";
  /** Error for the caller. It promises that nothing is charged. */
  readonly error: ServiceError;
  readonly billId: string;
  readonly why: string;
  readonly message: string;
}

/** The provider broke its answer off after the client got a part of it. Another provider may continue the answer. */
export interface Broken<K extends Kinds> {
  readonly kind: "broken";
  /** The client's error, unless the next provider delivers. */
  readonly error: ServiceError;
  readonly message: string;
  /** The provider's own id of the work; empty if the provider sent none. */
  readonly billId: string;
  /** Returns the attempt's end if no provider continues the answer. Called once, in that case only. */
  otherwise(): Failed | Unknown;
  /** True if the provider bills us at all. */
  readonly isBilled: boolean;
  /**
   * Returns the bill of this part alone.
   * @param found undefined if the provider reports none: then the bill is as metered
   */
  billOf(found: K["found"] | undefined): K["bill"];
  /**
   * Prepares the next attempt to continue the answer.
   * @param parts bills of all parts that the client received, this one last
   * @returns cost of the text that the next provider reads again; undefined if it cannot continue the answer
   */
  continueAt(next: Route, parts: readonly K["bill"][]): PicoUsd | undefined;
}

/** "unknown": the provider has no such work (yet). "silent": no usable reply. */
export type LookUpResult<Found> = Found | "unknown" | "silent";

export interface LookUp<K extends Kinds> {
  /** Returns true if this provider offers look-ups. */
  canAsk(provider: string): boolean;
  /** @param billId the provider's own id, or the request's. Never rejects. */
  ask(provider: string, billId: string): Promise<LookUpResult<K["found"]>>;
}

/**
 * Stores the state of a request, besides its hold, beyond the life of this process.
 * The record decides the end of a request before billing does, so that each later process sends billing the same
 * ending.
 */
export interface RequestRecord<K extends Kinds> {
  /**
   * Opens the record after the hold, before anything is sent.
   * @returns false if the id and the hold belong to another request. @throws ServiceError: nothing is sent
   */
  open(order: K["order"], route: Route): Promise<boolean>;
  /** Records the next attempt before it is sent. @returns false if another process owns the request */
  next(order: K["order"], route: Route): Promise<boolean>;
  /**
   * Records the end of a request.
   * `recorded`: billing must follow now.
   * `void`: the request is never charged and its answer is withheld. The cost is ours.
   * `passed`: another process owns the request and decides.
   * @param product of a captured ending, if this process produced it
   */
  end(
    order: K["order"],
    ending: Ending,
    product: K["product"] | undefined,
  ): Promise<"recorded" | "void" | "passed">;
  /**
   * Records an unknown outcome.
   * `recorded`: the record's own rounds will look it up.
   * `search`: there is no round before the deadline, so this process searches for the bill.
   * `passed`: another process owns the request, or a round of this one will resume it, and may charge it.
   */
  keepOpen(order: K["order"], why: string, message: string): Promise<"recorded" | "search" | "passed">;
  /**
   * Records that billing has booked the ending.
   * @param asRecorded false if billing refused a capture, because the hold had been resolved in another way: nobody
   * pays
   */
  booked(id: string, asRecorded: boolean): Promise<void>;
  /** Extends the leases of requests that this process works on. */
  renew(ids: readonly string[]): Promise<void>;
  /** Claims requests that are due, from any process, except those that this process works on. */
  due(except: readonly string[]): Promise<Due<K>[]>;
  /** Returns the state of a request after the deadline of its hold. */
  ofHold(hold: LeasedHold): Promise<HoldTrace>;
  /** Postpones a lost request. @param unbilled true if the provider had no bill */
  putOff(id: string, waitMs: number, unbilled: boolean): Promise<void>;
}

/** A request with an unknown outcome, or with an ending that billing has not booked. */
export interface Lost {
  readonly id: string;
  readonly route: Route;
  /** Unix milliseconds. */
  readonly deadlineAt: number;
  /** Number of look-ups for which the provider had no bill. */
  readonly unbilledLookUps: number;
  /** The order's `severalBills`: a bill that is found before the deadline may not be all. */
  readonly hasSeveralBills?: boolean | undefined;
}

export interface Due<K extends Kinds> extends Lost {
  readonly order: K["order"];
  /** The recorded ending, if only the booking at billing is missing. */
  readonly ending: Ending | undefined;
  /** Continues the request from its recorded state; absent if that is not possible. */
  readonly resume: ((context: AttemptContext) => Promise<AttemptEnd<K>>) | undefined;
}

export type HoldTrace =
  /** The record was never opened, so nothing was sent. */
  | { readonly kind: "not sent" }
  | { readonly kind: "ended"; readonly ending: Ending }
  /** A round of the record resolves it later. */
  | { readonly kind: "elsewhere" }
  | { readonly kind: "lost"; readonly lost: Lost };

/** Events of money, each as one function: a counter, and a log line for faults. */
export interface PaidRequestEvents<K extends Kinds> extends LossEvents {
  /** The charge exceeds the hold, and the hold could not grow: the remainder is our loss. */
  notCovered(order: K["order"], bill: K["bill"], held: Credits): void;
  /** The bill of a delivered answer was looked up. */
  billLookedUp(order: K["order"]): void;
  /** The bill of a delivered answer is as we metered it. */
  billMetered(order: K["order"]): void;
  /** The next provider is called. */
  fellBack(order: K["order"], failed: Failed, to: Route): void;
  /** A capture was not confirmed; the hold is open and the caller got an error. */
  notCaptured(order: K["order"], error: unknown): void;
  /** Something could not be recorded or booked now; a later round repeats it. */
  notBooked(id: string, error: unknown): void;
  /** An open request has ended. */
  resolved(id: string, ending: Ending): void;
  /** A bill was found for an ended request. @param cost amount beyond the booked cost */
  lateBill(id: string, cost: PicoUsd): void;
  /** A round of background work failed; the next round continues. */
  roundFailed(error: unknown): void;
}
