// What the life of a paid request asks of a service: how an answer is produced, how a bill is looked up, and where it is
// written down what became of a request. Everything else about money is the same for all of them.
import type { LeasedHold } from "@gr/clients";
import type { Credits, PicoUsd } from "@gr/money";
import type { ServiceError } from "@gr/proto";
import type { LossEvents } from "./loss-breaker.ts";
import type { Bill, Ending, Order, Route } from "./order.ts";

/** What a service calls its own: its orders, what its callers get, its bills, and what its look-ups find. */
export interface Kinds {
  order: Order;
  product: unknown;
  bill: Bill;
  found: FoundBill;
}

/** What a provider says about a request when it is asked. */
export interface FoundBill {
  readonly cost: PicoUsd;
}

/** How an answer is produced. */
export interface Producer<K extends Kinds> {
  /** Who may do it, best first; at least one. A later one is tried only where an attempt ends with `fallBack`. */
  readonly routes: readonly [Route, ...Route[]];
  /**
   * Does the work that is to begin only once the hold is placed, and whose failure is the caller's matter. Absent when there
   * is none. Nothing is recorded or sent before it resolves.
   * @param signal aborts when the process must stop. @throws ServiceError for the caller; the hold is released
   */
  prepare?(signal: AbortSignal): Promise<void>;
  /** Sends the request and waits for its end. An error that it throws counts as an outcome that nobody knows. */
  attempt(route: Route, context: AttemptContext): Promise<AttemptEnd<K> | Broken<K>>;
}

export interface AttemptContext {
  /** From 1. */
  readonly number: number;
  /** Aborted when the process must stop, or when the hold is no longer this request's. */
  readonly signal: AbortSignal;
  /** Size of the hold when the attempt begins. */
  readonly held: Credits;
  /**
   * Reserves more while the work goes on. Never rejects.
   * @param least the hold's new size in all, at least. @param most as large it may become
   */
  extend(least: Credits, most?: Credits): Promise<Extension>;
}

/** The hold's size now; or why it stays as it is: no more may be spent. */
export type Extension = { readonly held: Credits } | { readonly refused: ServiceError };

/** What became of one attempt. What becomes of the hold is decided afterwards, and elsewhere. */
export type AttemptEnd<K extends Kinds> = Delivered<K> | Failed | Unknown;

/** The caller has something, or can fetch it: it pays, whoever ended it. */
export interface Delivered<K extends Kinds> {
  readonly kind: "delivered";
  /** As the provider said it; undefined when it has to be looked up. */
  readonly bill: K["bill"] | undefined;
  /** The provider's own id of the work; empty when it gave none. */
  readonly billId: string;
  /** @param found undefined when the provider does not say: then the bill is as metered */
  billOf(found: K["found"] | undefined): K["bill"];
  /** The last of what the caller gets. Called once, before the capture: what is to be kept must be whole by then. */
  productOf(bill: K["bill"]): K["product"];
}

/** Nothing was delivered: the caller pays nothing. */
export interface Failed {
  readonly kind: "failed";
  /** What the caller is told. */
  readonly error: ServiceError;
  /** What the provider billed all the same; undefined when nobody knows yet: then it is searched for afterwards. */
  readonly cost: PicoUsd | undefined;
  /** The cost is as metered, since the provider did not say: its bill is searched for afterwards, too. */
  readonly metered?: boolean;
  readonly billId: string;
  /** Nothing left this process. */
  readonly notSent: boolean;
  /** The provider has surely not begun, nothing reached the caller, and another provider may do better. */
  readonly fallBack: boolean;
  readonly why: string;
  readonly message: string;
}

/** Nobody knows whether the provider did the work and billed it. */
export interface Unknown {
  readonly kind: "unknown";
  /** What the caller is told: an error that promises that nothing is charged. */
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
  /** The provider's own id of the work; empty when it gave none. */
  readonly billId: string;
  /** Returns how the attempt ends when nobody continues the answer. Called once, then. */
  otherwise(): Failed | Unknown;
  /** Whether the provider bills us at all. */
  readonly isBilled: boolean;
  /** Bill of this part alone. @param found undefined when the provider does not say: then the bill is as metered */
  billOf(found: K["found"] | undefined): K["bill"];
  /**
   * Prepares the next attempt to continue the answer.
   * @param parts bills of all parts that the client has, this one last
   * @returns cost of what the next provider reads again; undefined when it cannot continue the answer
   */
  continueAt(next: Route, parts: readonly K["bill"][]): PicoUsd | undefined;
}

/** "unknown": the provider has no such work (yet). "silent": it did not say. */
export type LookUpResult<Found> = Found | "unknown" | "silent";

export interface LookUp<K extends Kinds> {
  /** Whether this provider can be asked at all. */
  canAsk(provider: string): boolean;
  /** @param billId the provider's own id, or the request's. Never rejects. */
  ask(provider: string, billId: string): Promise<LookUpResult<K["found"]>>;
}

/**
 * What is known of a request besides its hold, and survives this process. It decides how a request ended before billing
 * is told, so that whoever comes later tells billing the same.
 */
export interface RequestRecord<K extends Kinds> {
  /**
   * After the hold, before anything is sent.
   * @returns false when the id belongs to another request, and so does the hold. @throws ServiceError: nothing is sent
   */
  open(order: K["order"], route: Route): Promise<boolean>;
  /** Before another attempt is sent. @returns false when the request is not ours any more */
  next(order: K["order"], route: Route): Promise<boolean>;
  /**
   * - recorded: billing is to be told now
   * - void: nobody will ever charge for it, and nothing may be given; its cost is ours
   * - passed: another process has it and decides
   * @param product of a captured ending, when this process produced it
   */
  end(
    order: K["order"],
    ending: Ending,
    product: K["product"] | undefined,
  ): Promise<"recorded" | "void" | "passed">;
  /**
   * Nobody knows the outcome.
   * - recorded: the record's own rounds will look it up
   * - search: there are none before the deadline, so it is looked up from here
   * - passed: another process has it, or this one's rounds will: it may be gone on with, and charged
   */
  leaveOpen(order: K["order"], why: string, message: string): Promise<"recorded" | "search" | "passed">;
  /**
   * Billing has been told.
   * @param asRecorded false when it refused a capture, since the hold had been resolved in another way: nobody pays
   */
  booked(id: string, asRecorded: boolean): Promise<void>;
  /** Keeps other processes away from what this one works on. */
  renew(ids: readonly string[]): Promise<void>;
  /** Takes requests that are due, whoever had them, but for those that this process works on. */
  due(except: readonly string[]): Promise<Due<K>[]>;
  /** What is known of a hold that is past its deadline. */
  ofHold(hold: LeasedHold): Promise<HoldStory>;
  /** Puts a lost request off. @param unbilled the provider knew of no bill */
  putOff(id: string, waitMs: number, unbilled: boolean): Promise<void>;
}

/** A request whose outcome this process does not know, or has not booked. */
export interface Lost {
  readonly id: string;
  readonly route: Route;
  /** Unix milliseconds. */
  readonly deadlineAt: number;
  /** Look-ups at which the provider knew of no bill. */
  readonly unbilledLookUps: number;
  /** As of its order: a bill that is found before the deadline may not be all. */
  readonly severalBills?: boolean | undefined;
}

export interface Due<K extends Kinds> extends Lost {
  readonly order: K["order"];
  /** How it ended, when only billing has to be told. */
  readonly ending: Ending | undefined;
  /** Goes on with it where its process left it; absent when that is not possible. */
  readonly resume: ((context: AttemptContext) => Promise<AttemptEnd<K>>) | undefined;
}

export type HoldStory =
  /** It was never opened, so nothing was sent. */
  | { readonly kind: "not sent" }
  | { readonly kind: "ended"; readonly ending: Ending }
  /** It is due in its own time. */
  | { readonly kind: "elsewhere" }
  | { readonly kind: "lost"; readonly lost: Lost };

/** What happens to the money of requests, each as one function: a counter, and a log line for what went wrong. */
export interface PaidRequestEvents<K extends Kinds> extends LossEvents {
  /** The charge is more than is held, and the hold could not grow: the remainder is our loss. */
  notCovered(order: K["order"], bill: K["bill"], held: Credits): void;
  /** The bill of a delivered answer was looked up. */
  billLookedUp(order: K["order"]): void;
  /** The bill of a delivered answer is as we metered it. */
  billMetered(order: K["order"]): void;
  /** The next provider is tried. */
  fellBack(order: K["order"], failed: Failed, to: Route): void;
  /** A capture was not confirmed; the hold is open and the caller got an error. */
  notCaptured(order: K["order"], error: unknown): void;
  /** Something could not be recorded or booked now; a later round repeats it. */
  notBooked(id: string, error: unknown): void;
  /** A request that was left open has ended. */
  resolved(id: string, ending: Ending): void;
  /** A bill turned up for a request that had ended. @param cost beyond what was known */
  lateBill(id: string, cost: PicoUsd): void;
  /** A round of background work failed; the next one goes on. */
  roundFailed(error: unknown): void;
}
