// PaidRequests runs requests that cost money: claim and hold, attempts, capture or release, and recovery after a crash.
// Nothing is sent without a hold. Delivered output is charged, no matter which side ended it.
import { type AttemptResult, ReleaseReason } from "@gr/clients";
import type { Credits } from "@gr/money";
import { errorRow, ServiceError } from "@gr/proto";
import { startRounds } from "@gr/runtime";
import { inAttemptSpan } from "./attempt-span.ts";
import { lookUpBill } from "./bill-look-up.ts";
import { BillSearch, SEARCH_PAUSES } from "./bill-search.ts";
import { type Booked, Booking } from "./booking.ts";
import { Continuation } from "./continuation.ts";
import { overtaken, tooLate, unknownOutcome } from "./errors.ts";
import { type Cover, LossBreaker } from "./loss-breaker.ts";
import type { PaidRequestsOptions } from "./options.ts";
import type { Bill, Ending, Order, Route } from "./order.ts";
import type {
  AttemptContext,
  AttemptEnd,
  Broken,
  Delivered,
  Failed,
  Kinds,
  Producer,
  Unknown,
} from "./ports.ts";
import { Resolver } from "./resolver.ts";
import { RunningHolds } from "./running-holds.ts";
import { type Running, RunningRequests } from "./running-requests.ts";

/** Time for requests without a caller to finish while the process stops; the process has already waited for callers. */
const DRAIN_MS = 3_000;
/**
 * Time after that to book aborted requests. A platform kills a process that stops too slowly, so a search for a bill
 * may be cut off. Then the hold stays open, a look-up after its deadline finds the cost, and the cost is ours.
 */
const GIVE_UP_MS = 1_000;

/** Least status of the errors that a client did not cause. */
const SERVER_ERROR = 500;

/** The hold is captured, so the product may be sent. */
export interface Answered<K extends Kinds> {
  readonly kind: "answered";
  readonly product: K["product"];
  readonly bill: K["bill"];
}

export type Served<K extends Kinds> =
  | Answered<K>
  /** The claim belongs to an earlier, charged request. Its answer must be sent again. */
  | { readonly kind: "earlier"; readonly id: string }
  /** The caller disconnected before anything was sent. */
  | { readonly kind: "left" };

export type Begun<K extends Kinds> =
  /** The request is held and recorded, and continues in the background. The caller of `begin` must handle `served`. */
  { readonly kind: "begun"; readonly served: Promise<Answered<K>> } | Exclude<Served<K>, Answered<K>>;

export class PaidRequests<K extends Kinds> {
  readonly running: RunningRequests;
  readonly resolver: Resolver<K>;
  /** Routes that lose money; services choose none of them. */
  readonly losses: LossBreaker;
  readonly #options: PaidRequestsOptions<K>;
  readonly #booking: Booking<K>;
  readonly #search: BillSearch<K>;
  readonly #holds: RunningHolds<K>;
  #stopResolving: (() => Promise<void>) | undefined;
  #stopRenewing: (() => Promise<void>) | undefined;

  constructor(options: PaidRequestsOptions<K>) {
    const { billing, record, lookUp, events, clock, settings } = options;
    this.#options = options;
    this.running = new RunningRequests(settings.mostRunning);
    this.losses = new LossBreaker(clock, events);
    const cancel = (id: string) => this.running.cancel(id, "another process resolved its hold");
    this.#holds = new RunningHolds(billing, events, cancel);
    this.#booking = new Booking(billing, record, events);
    const pauses = settings.searchPauses ?? SEARCH_PAUSES;
    this.#search = new BillSearch({ billing, lookUp, events, clock, losses: this.losses }, pauses);
    this.resolver = new Resolver({
      ...options,
      booking: this.#booking,
      search: this.#search,
      losses: this.losses,
      running: this.running,
      resume: (order, route, resume, running) => this.#resume(order, route, resume, running),
    });
  }

  /**
   * Resolves when the charge is committed, even if the caller has disconnected.
   * @param gone returns true after a disconnect of the caller; called before anything is sent
   * @throws ServiceError if there is no answer; the hold is then released, or resolved later
   */
  async serve(order: K["order"], producer: Producer<K>, gone: () => boolean): Promise<Served<K>> {
    const begun = await this.begin(order, producer, gone);
    return begun.kind === "begun" ? await begun.served : begun;
  }

  /**
   * Does the first half of `serve`, for services that answer before the work is done.
   * @throws ServiceError if the request was refused: nothing was sent
   */
  async begin(order: K["order"], producer: Producer<K>, gone: () => boolean): Promise<Begun<K>> {
    const running = this.running.serve(order.id, order.accountId, order.keyId);
    const leave = () => {
      this.#holds.remove(order.id);
      running.leave();
    };
    let served: Promise<Answered<K>> | undefined;
    try {
      const [route] = producer.routes;
      const earlier = await this.#place(order, route);
      if (earlier !== undefined) return { kind: "earlier", id: earlier };
      if (!gone()) await this.#prepare(order, producer, running, gone);
      if (gone()) {
        await this.#releaseUnsent(order);
        return { kind: "left" };
      }
      await this.#open(order, route);
      served = followedBy(leave, this.#produce(order, producer, running, gone));
      return { kind: "begun", served };
    } finally {
      if (served === undefined) leave();
    }
  }

  /**
   * Prepares a request. A repeat of a charged request gets the earlier answer, even if new rules would refuse it now.
   * @returns the result of `prepare`, or the id of the earlier request.
   * @throws as `prepare` does, or because of the claim
   */
  async prepareOrFindEarlier<T>(
    {
      accountId,
      keyId: spenderId,
      personId,
      claim,
    }: Pick<Order, "accountId" | "keyId" | "personId" | "claim">,
    prepare: () => T | Promise<T>,
  ): Promise<{ readonly prepared: T } | { readonly earlier: string }> {
    try {
      return { prepared: await prepare() };
    } catch (refusal) {
      const { billing } = this.#options;
      const earlier = claim && (await billing.findEarlier({ accountId, spenderId, personId, claim }));
      if (earlier === undefined) throw refusal;
      return { earlier };
    }
  }

  /**
   * Protects running requests from other processes: by leases of their records and by later deadlines of their holds.
   */
  async renew(): Promise<void> {
    const ids = this.running.ids();
    if (ids.length > 0) await this.#options.record.renew(ids);
    const { holdForMs } = this.#options.settings;
    if (holdForMs === undefined) return;
    const now = this.#options.clock.now();
    await this.#holds.prolong(now + holdForMs / 2, now + holdForMs);
  }

  start(): void {
    const { clock, settings, events } = this.#options;
    const failed = events.roundFailed;
    const resolve = { clock, failed, pauseMs: settings.resolveEveryMs };
    this.#stopResolving ??= startRounds({ ...resolve, round: (stopping) => this.resolver.round(stopping) });
    const renew = { clock, failed, pauseMs: settings.renewEveryMs };
    this.#stopRenewing ??= startRounds({ ...renew, round: () => this.renew() });
  }

  async stop(): Promise<void> {
    await this.#stopResolving?.();
    await this.#drained(DRAIN_MS);
    this.running.cancelAll("the process stops");
    await this.#drained(GIVE_UP_MS);
    this.#search.stop();
    await this.#stopRenewing?.();
  }

  async #drained(ms: number): Promise<void> {
    const over = new AbortController();
    const drained = this.running.drained().then(() => over.abort());
    await Promise.race([drained, this.#options.clock.sleep(ms, over.signal)]);
  }

  /** @returns the id of the earlier, charged request that has the claim; then there is no hold */
  async #place(order: K["order"], route: Route): Promise<string | undefined> {
    const { id, keyId, personId, accountId, credits, mostCredits, model, priceVersion, deadlineAt, claim } =
      order;
    const { billing, service } = this.#options;
    const payer = { accountId, spenderId: keyId, personId };
    const hold = { holdId: id, ...payer, credits, mostCredits, service, model, priceVersion, deadlineAt };
    try {
      const placed = await billing.place({ ...hold, ...route, claim });
      if ("earlier" in placed) return placed.earlier;
      this.#holds.add(order, placed.held);
      return undefined;
    } catch (error) {
      // The hold may exist although its place was never answered, and would keep its claim until its deadline.
      // No request waits for this release.
      if (error instanceof ServiceError && error.reason === "billing_unavailable") {
        void this.#releaseUnsent(order);
      }
      throw error;
    }
  }

  /** Runs the preparation. After a disconnect of the caller its failure is ignored. */
  async #prepare(
    order: K["order"],
    producer: Producer<K>,
    { signal }: Pick<Running, "signal">,
    gone: () => boolean,
  ): Promise<void> {
    try {
      await producer.prepare?.(signal);
    } catch (error) {
      if (gone()) return;
      await this.#releaseUnsent(order);
      throw error;
    }
  }

  async #open(order: K["order"], route: Route): Promise<void> {
    let ours = true;
    try {
      ours = await this.#options.record.open(order, route);
    } catch (error) {
      await this.#releaseUnsent(order);
      throw error;
    }
    if (!ours) throw new Error(`there is another request ${order.id}`);
  }

  async #releaseUnsent({ id, accountId }: Order): Promise<void> {
    const { billing, events } = this.#options;
    await billing
      .release({ accountId, holdId: id }, ReleaseReason.NOT_SENT)
      .catch((error) => events.notBooked(id, error));
  }

  /** Runs one attempt after the other while that is safe; then decides about the hold, once. */
  async #produce(
    order: K["order"],
    producer: Producer<K>,
    running: Running,
    gone: () => boolean,
  ): Promise<Answered<K>> {
    let [route, ...later] = producer.routes;
    const continuation = this.#continuationOf(order);
    for (let number = 1; ; number += 1) {
      const began = this.#options.clock.now();
      const outcome = await inAttemptSpan(this.#options.attempts, order, { route, number }, () =>
        this.#attempt(order, number, running, (context) => producer.attempt(route, context)),
      );
      const tookMs = this.#options.clock.now() - began;
      this.#options.health?.record(route.provider, attemptResult(outcome), tookMs);
      // Requests of others may have closed routes meanwhile.
      later = later.filter((each) => !this.losses.isClosed(each, order.accountId));
      const [next] = later;
      const isWanted = !gone() && !running.signal.aborted;
      const end = await continuation.settle(outcome, route, isWanted ? next : undefined);
      const safe = end.kind === "failed" && end.mayFallBack && end.cost !== undefined;
      if (!safe || next === undefined || gone()) return this.#conclude(order, route, end);
      const went = await this.#released(order, number + 1, next, { ...end, route });
      if (went?.kind === "unknown") throw await this.#keepOpen(order, undefined, went);
      if (went !== undefined) return this.#conclude(order, route, went);
      this.#options.events.fellBack(order, end, next);
      route = next;
      later = later.slice(1);
    }
  }

  #continuationOf(order: K["order"]): Continuation<K> {
    const { lookUp, clock } = this.#options;
    const held = () => this.#holds.heldFor(order);
    const extend = (least: Credits) => this.#holds.extend(order.id, 0, least);
    const billed = (route: Route, { charge, cost }: Bill) =>
      this.losses.recordBill(route, this.#coverOf(order, charge), cost);
    return new Continuation({ order, lookUp, clock, held, extend, billed });
  }

  /** @param charge undefined of an attempt that delivered nothing */
  #coverOf(order: K["order"], charge: Credits | undefined): Cover {
    return { accountId: order.accountId, held: this.#holds.heldFor(order), charge };
  }

  async #attempt<End extends AttemptEnd<K> | Broken<K>>(
    order: K["order"],
    number: number,
    { signal }: Pick<Running, "signal">,
    attempt: (context: AttemptContext) => Promise<End>,
  ): Promise<End | Unknown> {
    const extend = (least: Credits, most?: Credits) => this.#holds.extend(order.id, 0, least, most);
    try {
      return await attempt({ number, signal, held: this.#holds.heldFor(order), extend });
    } catch (cause) {
      const message = "The request could not be carried out.";
      const error = new ServiceError("internal_error", message, { cause });
      return { kind: "unknown", error, billId: "", why: "defect", message: String(cause) };
    }
  }

  /**
   * Names the next provider at billing and in the record before the next attempt.
   * @returns the end, if it may not begin
   */
  async #released(
    order: K["order"],
    attempt: number,
    route: Route,
    { route: before, ...failed }: Failed & { readonly route: Route },
  ): Promise<Failed | Unknown | undefined> {
    const { billing, record } = this.#options;
    const { id: holdId, accountId, deadlineAt, hasSeveralBills } = order;
    const { cost = 0n, billId, isMetered } = failed;
    const cover = this.#coverOf(order, undefined);
    this.losses.recordBill(before, cover, cost);
    const next = { ...route, accountId, holdId, attempt, deadlineAt };
    try {
      if (!(await billing.nextAttempt({ ...next, cost }))) return failed;
      if (isMetered === true) {
        const searched = { id: holdId, route: before, billId, hasSeveralBills, booked: cost, cover };
        this.#search.forEarlier(searched, (found) =>
          billing.nextAttempt({ ...next, cost: found, billedBy: before.provider }),
        );
      }
      if (await record.next(order, route)) return undefined;
      return { ...failed, cost: 0n, isMetered: false };
    } catch (error) {
      this.#options.events.notBooked(holdId, error);
      // The hold's attempt is unknown here. The process that resolves the hold queries only the provider in the hold.
      return { ...failed, kind: "unknown" };
    }
  }

  /** Captures, releases or keeps the hold open, as the attempt ended. */
  async #conclude(order: K["order"], route: Route, end: AttemptEnd<K>): Promise<Answered<K>> {
    switch (end.kind) {
      case "delivered":
        return this.#charge(order, route, end);
      case "failed":
        throw await this.#free(order, route, end);
      case "unknown":
        throw await this.#keepOpen(order, route, end);
    }
  }

  async #charge(order: K["order"], route: Route, delivered: Delivered<K>): Promise<Answered<K>> {
    const { events, billing } = this.#options;
    const found =
      delivered.bill === undefined
        ? await this.#findBill(order, route, delivered)
        : { bill: delivered.bill, isAll: true };
    const { isAll } = found;
    const bill = await this.#holds.cover(order, found.bill);
    const cover = this.#coverOf(order, bill.charge);
    this.losses.recordBill(route, cover, bill.cost);
    const product = delivered.productOf(bill);
    let booked: Booked;
    try {
      booked = await this.#booking.end(order, { kind: "captured", bill }, product);
    } catch (error) {
      events.notCaptured(order, error);
      throw unknownOutcome("The request was carried out, but could not be charged for yet.", error);
    }
    if (booked !== "passed" && !isAll) {
      const { id, hasSeveralBills } = order;
      const searched = { id, route, billId: delivered.billId, hasSeveralBills, booked: bill.cost, cover };
      this.#search.forEnded(searched);
    }
    switch (booked) {
      case "booked":
        return { kind: "answered", product, bill };
      case "void": {
        // The metered cost is ours.
        const { id: holdId, accountId } = order;
        const isFree = await billing
          .release({ accountId, holdId }, ReleaseReason.FAILED, bill.cost, route.provider)
          .catch((error) => {
            events.notBooked(order.id, error);
            return true;
          });
        // Another process has charged the request by a kept answer, and the claim has expired since.
        throw isFree ? tooLate() : overtaken();
      }
      case "refused":
        throw tooLate();
      case "passed":
        throw overtaken();
    }
  }

  /** @returns the bill, and true if it is surely complete */
  async #findBill(
    order: K["order"],
    { provider }: Route,
    { billId, billOf }: Delivered<K>,
  ): Promise<{ readonly bill: K["bill"]; readonly isAll: boolean }> {
    const { events } = this.#options;
    const found = await lookUpBill(this.#options, order.id, provider, billId);
    if (found === undefined) events.billMetered(order);
    else events.billLookedUp(order);
    return { bill: billOf(found), isAll: found !== undefined && order.hasSeveralBills !== true };
  }

  /** Releases the hold of a failed request. The resolver repeats failed steps. @returns the error for the caller */
  async #free(order: K["order"], route: Route, failed: Failed): Promise<ServiceError> {
    const { record, events } = this.#options;
    const { id, hasSeveralBills } = order;
    const { isUnsent, cost, isMetered, why, message, billId } = failed;
    const cover = this.#coverOf(order, undefined);
    this.losses.recordBill(route, cover, cost ?? 0n);
    const reason = isUnsent ? ReleaseReason.NOT_SENT : ReleaseReason.FAILED;
    const { provider } = route;
    const ending: Ending = { kind: "released", reason, cost: cost ?? 0n, provider, why, message };
    let recorded: Awaited<ReturnType<typeof record.end>>;
    try {
      recorded = await record.end(order, ending, undefined);
    } catch (error) {
      events.notBooked(id, error);
      // A process that finds the request reads no failure in the record, and may resume it.
      return this.#keepOpen(order, route, { ...failed, kind: "unknown" });
    }
    if (recorded === "passed") return overtaken();
    await this.#booking.book(order, ending).catch((error) => events.notBooked(id, error));
    if (cost === undefined || isMetered === true) {
      this.#search.forEnded({ id, route, billId, hasSeveralBills, booked: cost ?? 0n, cover });
    }
    return failed.error;
  }

  /**
   * Keeps the hold open.
   * @param route provider that may have billed the request, if certain. @returns the error for the caller
   */
  async #keepOpen(order: K["order"], route: Route | undefined, unknown: Unknown): Promise<ServiceError> {
    const { record, events } = this.#options;
    const left = await record.keepOpen(order, unknown.why, unknown.message).catch((error) => {
      events.notBooked(order.id, error);
      return "passed" as const;
    });
    if (left === "passed") {
      return unknownOutcome("The outcome of this request is unknown so far.", unknown.error);
    }
    if (left === "search" && route !== undefined) {
      const { id, hasSeveralBills } = order;
      const cover = this.#coverOf(order, undefined);
      const searched = { id, route, billId: unknown.billId, hasSeveralBills, booked: undefined, cover };
      this.#search.forOpen(searched, async (released) => {
        await this.#booking.end(order, released, undefined);
        events.resolved(id, released);
      });
    }
    return unknown.error;
  }

  /** Resumes a request without a client. Charges and keeps the answer. */
  async #resume(
    order: K["order"],
    route: Route,
    resume: (context: AttemptContext) => Promise<AttemptEnd<K>>,
    running: Running,
  ): Promise<void> {
    const end = await this.#attempt(order, 1, running, resume);
    if (end.kind === "failed") {
      await this.#free(order, route, end);
      return;
    }
    if (end.kind === "unknown") {
      await this.#keepOpen(order, route, end);
      return;
    }
    const { bill } = await this.#charge(order, route, end);
    this.#options.events.resolved(order.id, { kind: "captured", bill });
  }
}

/** Runs `end` after the work as finally() would, at a fraction of the cost. */
async function followedBy<T>(end: () => void, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    end();
  }
}

/** An error of the caller's own request does not speak of the provider. */
function attemptResult<K extends Kinds>(end: AttemptEnd<K> | Broken<K>): AttemptResult {
  if (end.kind === "delivered") return "delivered";
  const { status } = errorRow(end.error.reason);
  return status >= SERVER_ERROR ? "failed" : "refused";
}
