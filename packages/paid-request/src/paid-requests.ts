// The life of a request that costs money, written once: claim and hold, attempts, capture or release, and what follows
// when a process dies in between. Nothing is sent without a hold. What was delivered is charged, whoever ended it.
import { ReleaseReason } from "@gr/clients";
import type { Credits } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { startRounds } from "@gr/runtime";
import { inAttemptSpan } from "./attempt-span.ts";
import { lookUpBill } from "./bill-look-up.ts";
import { BillSearch, SEARCH_PAUSES } from "./bill-search.ts";
import { type Booked, Booking } from "./booking.ts";
import { Continuation } from "./continuation.ts";
import { takenOver, tooLate, unknownOutcome } from "./errors.ts";
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

/** How long work whose caller has gone may go on when the process stops; callers have been waited for already. */
const DRAIN_MS = 3_000;
/**
 * How long it may take afterwards to book what was given up. A bill may be looked for longer, but a platform kills whoever
 * takes too long to stop: such a hold stays open, a look-up after its deadline finds the cost, and it is ours.
 */
const GIVE_UP_MS = 1_000;

/** The hold is captured: what it says may be given away. */
export interface Answered<K extends Kinds> {
  readonly kind: "answered";
  readonly product: K["product"];
  readonly bill: K["bill"];
}

export type Served<K extends Kinds> =
  | Answered<K>
  /** The claim belongs to a request that was charged: its answer is to be given again. */
  | { readonly kind: "earlier"; readonly id: string }
  /** Nobody wants it any more, and nothing was sent. */
  | { readonly kind: "left" };

export type Begun<K extends Kinds> =
  /** It is held and recorded, and goes on by itself. Whoever begins it looks at its answer, or at its error. */
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
    const giveUp = (id: string) => this.running.giveUp(id, "its hold was resolved by somebody else");
    this.#holds = new RunningHolds(billing, events, giveUp);
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
   * Resolves when the charge is committed, whether the caller still listens or not.
   * @param gone whether the caller has left; asked before anything is sent
   * @throws ServiceError when there is no answer to give; the hold is taken care of
   */
  async serve(order: K["order"], producer: Producer<K>, gone: () => boolean): Promise<Served<K>> {
    const begun = await this.begin(order, producer, gone);
    return begun.kind === "begun" ? await begun.served : begun;
  }

  /**
   * The first half of `serve`, for whoever answers before the work is done.
   * @throws ServiceError when the request was refused: nothing was sent
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
   * Whoever repeats a request gets the answer it was charged for, whatever has changed since and would refuse it now.
   * @returns what `prepare` made, or the id of the earlier request. @throws as `prepare` does, or because of the claim
   */
  async prepareOrFindEarlier<T>(
    { accountId, keyId: spenderId, claim }: Pick<Order, "accountId" | "keyId" | "claim">,
    prepare: () => T | Promise<T>,
  ): Promise<{ readonly prepared: T } | { readonly earlier: string }> {
    try {
      return { prepared: await prepare() };
    } catch (refusal) {
      const earlier = claim && (await this.#options.billing.findEarlier({ accountId, spenderId, claim }));
      if (earlier === undefined) throw refusal;
      return { earlier };
    }
  }

  /** Keeps what runs from being resolved by others: in its record, and by the deadlines of its holds. */
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
    this.running.giveUpAll("the process stops");
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
    const { id, keyId, accountId, credits, mostCredits, model, priceVersion, deadlineAt, claim } = order;
    const { billing, service } = this.#options;
    const hold = {
      holdId: id,
      accountId,
      spenderId: keyId,
      credits,
      mostCredits,
      service,
      model,
      priceVersion,
      deadlineAt,
    };
    try {
      const placed = await billing.place({ ...hold, ...route, claim });
      if ("earlier" in placed) return placed.earlier;
      this.#holds.add(order, placed.held);
      return undefined;
    } catch (error) {
      // The hold may exist although its place was never answered, and would keep its claim until its deadline; nobody
      // waits for its release.
      if (error instanceof ServiceError && error.reason === "billing_unavailable") {
        void this.#releaseUnsent(order);
      }
      throw error;
    }
  }

  /** What a preparation fails of is no matter to a caller that has left meanwhile. */
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

  async #releaseUnsent({ id }: Order): Promise<void> {
    const { billing, events } = this.#options;
    await billing.release(id, ReleaseReason.NOT_SENT).catch((error) => events.notBooked(id, error));
  }

  /** One attempt after the other, as long as that is safe; then the hold is decided upon, once. */
  async #produce(
    order: K["order"],
    producer: Producer<K>,
    running: Running,
    gone: () => boolean,
  ): Promise<Answered<K>> {
    let [route] = producer.routes;
    const continuation = this.#continuationOf(order);
    for (let number = 1; ; number += 1) {
      const next = producer.routes[number];
      const made = await inAttemptSpan(this.#options.attempts, order, { route, number }, () =>
        this.#attempt(order, number, running, (context) => producer.attempt(route, context)),
      );
      const isWanted = !gone() && !running.signal.aborted;
      const end = await continuation.settle(made, route, isWanted ? next : undefined);
      const safe = end.kind === "failed" && end.fallBack && end.cost !== undefined;
      if (!safe || next === undefined || gone()) return this.#conclude(order, route, end);
      const went = await this.#goOn(order, number + 1, next, { ...end, route });
      if (went?.kind === "unknown") throw await this.#leaveOpen(order, undefined, went);
      if (went !== undefined) return this.#conclude(order, route, went);
      this.#options.events.fellBack(order, end, next);
      route = next;
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

  /** Names the next provider, before anything is sent to it. @returns how it ends instead */
  async #goOn(
    order: K["order"],
    attempt: number,
    route: Route,
    { route: before, ...failed }: Failed & { readonly route: Route },
  ): Promise<Failed | Unknown | undefined> {
    const { billing, record } = this.#options;
    const { id: holdId, deadlineAt, severalBills } = order;
    const { cost = 0n, billId, metered } = failed;
    const cover = this.#coverOf(order, undefined);
    this.losses.recordBill(before, cover, cost);
    const next = { ...route, holdId, attempt, deadlineAt };
    try {
      if (!(await billing.nextAttempt({ ...next, cost }))) return failed;
      if (metered === true) {
        const searched = { id: holdId, route: before, billId, severalBills, booked: cost, cover };
        this.#search.forEarlier(searched, (found) =>
          billing.nextAttempt({ ...next, cost: found, billedBy: before.provider }),
        );
      }
      if (await record.next(order, route)) return undefined;
      return { ...failed, cost: 0n, metered: false };
    } catch (error) {
      this.#options.events.notBooked(holdId, error);
      // Nobody knows which attempt the hold is at: whoever resolves it asks the provider that it names, and nobody else does.
      return { ...failed, kind: "unknown" };
    }
  }

  /** What becomes of the hold. */
  async #conclude(order: K["order"], route: Route, end: AttemptEnd<K>): Promise<Answered<K>> {
    switch (end.kind) {
      case "delivered":
        return this.#charge(order, route, end);
      case "failed":
        throw await this.#free(order, route, end);
      case "unknown":
        throw await this.#leaveOpen(order, route, end);
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
      const { id, severalBills } = order;
      const searched = { id, route, billId: delivered.billId, severalBills, booked: bill.cost, cover };
      this.#search.forEnded(searched);
    }
    switch (booked) {
      case "booked":
        return { kind: "answered", product, bill };
      case "void": {
        // What we know of its cost is ours.
        const isFree = await billing
          .release(order.id, ReleaseReason.FAILED, bill.cost, route.provider)
          .catch((error) => {
            events.notBooked(order.id, error);
            return true;
          });
        // Another process has charged it by an answer that was kept, and whose claim has ended since.
        throw isFree ? tooLate() : takenOver();
      }
      case "refused":
        throw tooLate();
      case "passed":
        throw takenOver();
    }
  }

  /** @returns the bill, and whether it is surely all of it */
  async #findBill(
    order: K["order"],
    { provider }: Route,
    { billId, billOf }: Delivered<K>,
  ): Promise<{ readonly bill: K["bill"]; readonly isAll: boolean }> {
    const { events } = this.#options;
    const found = await lookUpBill(this.#options, order.id, provider, billId);
    if (found === undefined) events.billMetered(order);
    else events.billLookedUp(order);
    return { bill: billOf(found), isAll: found !== undefined && order.severalBills !== true };
  }

  /** The resolver repeats what did not work. @returns what the caller is told */
  async #free(order: K["order"], route: Route, failed: Failed): Promise<ServiceError> {
    const { record, events } = this.#options;
    const { id, severalBills } = order;
    const { notSent, cost, metered, why, message, billId } = failed;
    const cover = this.#coverOf(order, undefined);
    this.losses.recordBill(route, cover, cost ?? 0n);
    const reason = notSent ? ReleaseReason.NOT_SENT : ReleaseReason.FAILED;
    const { provider } = route;
    const ending: Ending = { kind: "released", reason, cost: cost ?? 0n, provider, why, message };
    let recorded: Awaited<ReturnType<typeof record.end>>;
    try {
      recorded = await record.end(order, ending, undefined);
    } catch (error) {
      events.notBooked(id, error);
      // Whoever finds it does not know that it has failed, and may go on with it.
      return this.#leaveOpen(order, route, { ...failed, kind: "unknown" });
    }
    if (recorded === "passed") return takenOver();
    await this.#booking.book(id, ending).catch((error) => events.notBooked(id, error));
    if (cost === undefined || metered === true) {
      this.#search.forEnded({ id, route, billId, severalBills, booked: cost ?? 0n, cover });
    }
    return failed.error;
  }

  /** @param route who may have billed it, if that is known. @returns what the caller is told */
  async #leaveOpen(order: K["order"], route: Route | undefined, unknown: Unknown): Promise<ServiceError> {
    const { record, events } = this.#options;
    const left = await record.leaveOpen(order, unknown.why, unknown.message).catch((error) => {
      events.notBooked(order.id, error);
      return "passed" as const;
    });
    if (left === "passed") {
      return unknownOutcome("Nobody knows yet what became of this request.", unknown.error);
    }
    if (left === "search" && route !== undefined) {
      const { id, severalBills } = order;
      const cover = this.#coverOf(order, undefined);
      const searched = { id, route, billId: unknown.billId, severalBills, booked: undefined, cover };
      this.#search.forOpen(searched, async (released) => {
        await this.#booking.end(order, released, undefined);
        events.resolved(id, released);
      });
    }
    return unknown.error;
  }

  /** Its caller has gone: what is delivered is charged and kept for it. */
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
      await this.#leaveOpen(order, route, end);
      return;
    }
    const { bill } = await this.#charge(order, route, end);
    this.#options.events.resolved(order.id, { kind: "captured", bill });
  }
}

/** As finally() does it, at a part of its price. */
async function followedBy<T>(end: () => void, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    end();
  }
}
