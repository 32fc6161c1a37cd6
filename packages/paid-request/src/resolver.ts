// Resolver ends open requests: of crashed processes, with unknown outcomes, and with endings that billing has not
// booked. No hold is released without evidence.
import { type LeasedHold, ReleaseReason } from "@gr/clients";
import type { BillSearch } from "./bill-search.ts";
import type { Booking } from "./booking.ts";
import type { Cover, LossBreaker } from "./loss-breaker.ts";
import { judgeLookUp, UNRESOLVED } from "./lost-request.ts";
import type { PaidRequestsOptions } from "./options.ts";
import type { Ending, Order, Route } from "./order.ts";
import type { AttemptContext, AttemptEnd, Due, Kinds, Lost } from "./ports.ts";
import type { Running, RunningRequests } from "./running-requests.ts";

const LEASED_AT_ONCE = 100;
/** Requests that are resolved at the same time. */
const PARALLEL = 8;

export interface ResolverOptions<K extends Kinds> extends PaidRequestsOptions<K> {
  readonly booking: Booking<K>;
  readonly search: BillSearch<K>;
  readonly losses: LossBreaker;
  readonly running: RunningRequests;
  /** Continues a request from its recorded state. @throws ServiceError if it ends without an answer */
  resume(
    order: K["order"],
    route: Route,
    resume: (context: AttemptContext) => Promise<AttemptEnd<K>>,
    running: Running,
  ): Promise<void>;
}

export class Resolver<K extends Kinds> {
  readonly #options: ResolverOptions<K>;

  constructor(options: ResolverOptions<K>) {
    this.#options = options;
  }

  /** @throws if the record or billing cannot be reached; the next round continues */
  async round(stopping: AbortSignal): Promise<void> {
    const { record, running, billing, service, settings } = this.#options;
    const due = await record.due(running.ids());
    await this.#each(due, (one) => this.#resolveDue(one));
    for (let leased = LEASED_AT_ONCE; leased === LEASED_AT_ONCE && !stopping.aborted; ) {
      const holds = await billing.leaseExpired(service, LEASED_AT_ONCE, settings.leaseMs);
      leased = holds.length;
      await this.#each(holds, (hold) => this.#resolveHold(hold));
    }
  }

  async #each<T extends { readonly id: string } | LeasedHold>(
    items: readonly T[],
    resolve: (item: T) => Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < items.length; at += PARALLEL) {
      await Promise.all(
        items.slice(at, at + PARALLEL).map((item) =>
          resolve(item).catch((error) => {
            this.#options.events.notBooked("id" in item ? item.id : item.holdId, error);
          }),
        ),
      );
    }
  }

  async #resolveDue(due: Due<K>): Promise<void> {
    const { running, resume, events } = this.#options;
    const { id, ending, order, route } = due;
    // Another round, or its own process, works on it already.
    if (running.has(id)) return;
    const entered = running.resolve(id);
    if (ending === undefined && due.resume !== undefined) {
      // Lasts as long as the provider works; the round does not wait for it.
      void resume(order, route, due.resume, entered)
        .catch((error) => events.notBooked(id, error))
        .finally(() => entered.leave());
      return;
    }
    try {
      if (ending === undefined) {
        await this.#lookUp(due, coverOf(order), (released) => this.#end(order, released));
      } else await this.#book(order, ending);
    } finally {
      entered.leave();
    }
  }

  async #resolveHold(hold: LeasedHold): Promise<void> {
    const { record, billing, running } = this.#options;
    const { holdId: id, accountId } = hold;
    // The process was suspended and works again: it ends the request itself.
    if (running.has(id)) return;
    const trace = await record.ofHold(hold);
    switch (trace.kind) {
      case "elsewhere":
        return;
      case "ended":
        this.#recordKept(hold, trace.ending);
        return this.#book({ id, accountId }, trace.ending);
      case "not sent": {
        const message = "its process died before anything was sent";
        const { NOT_SENT: reason } = ReleaseReason;
        const { provider } = hold;
        const ending: Ending = { kind: "released", reason, cost: 0n, provider, why: "not_sent", message };
        return this.#book({ id, accountId }, ending);
      }
      case "lost":
        return this.#lookUp(trace.lost, coverOf(hold), async (released) => {
          await billing.release({ accountId, holdId: id }, released.reason, released.cost, released.provider);
          await record.booked(id, true);
          this.#options.events.resolved(id, released);
          return true;
        });
    }
  }

  /** The breaker of the process that kept the answer is not this one. */
  #recordKept(hold: LeasedHold, ending: Ending): void {
    if (ending.kind !== "captured") return;
    const { charge, cost } = ending.bill;
    this.#options.losses.recordBill(hold, { ...coverOf(hold), charge }, cost);
  }

  async #book(order: Pick<Order, "id" | "accountId">, ending: Ending): Promise<void> {
    await this.#options.booking.book(order, ending);
    this.#options.events.resolved(order.id, ending);
  }

  async #end(order: K["order"], ending: Ending): Promise<boolean> {
    if ((await this.#options.booking.end(order, ending, undefined)) !== "booked") return false;
    this.#options.events.resolved(order.id, ending);
    return true;
  }

  /** @param end books a release. @returns false if another process decides */
  async #lookUp(
    lost: Lost,
    cover: Cover,
    end: (released: Extract<Ending, { kind: "released" }>) => Promise<boolean>,
  ) {
    const { lookUp, clock, record, search, settings, losses } = this.#options;
    const { id, route, hasSeveralBills } = lost;
    const askable = lookUp.canAsk(route.provider);
    const result = askable ? await lookUp.ask(route.provider, id) : undefined;
    const now = clock.now();
    const verdict = judgeLookUp(lost, result, now);
    if (verdict.kind === "wait") {
      const untilDeadline = askable ? 0 : lost.deadlineAt - now;
      await record.putOff(id, Math.max(settings.graceMs, untilDeadline), verdict.unbilled);
      return;
    }
    losses.recordBill(route, cover, verdict.cost);
    const ended = await end(verdict);
    const isAll = verdict.why !== UNRESOLVED && hasSeveralBills !== true;
    if (!ended || isAll) return;
    search.forUnresolved({ id, route, billId: "", hasSeveralBills, booked: verdict.cost, cover });
  }
}

/** Money against the bill of an answer without a reader. */
function coverOf({ accountId, credits: held }: Pick<Order, "accountId" | "credits">): Cover {
  return { accountId, held, charge: undefined };
}
