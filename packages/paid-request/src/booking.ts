// How the end of a request becomes money: the record decides first, one change with one winner; what billing is told
// follows from it, so that whoever comes later tells billing the same.
import type { Billing } from "@gr/clients";
import type { Ending } from "./order.ts";
import type { Kinds, PaidRequestEvents, RequestRecord } from "./ports.ts";

/**
 * - booked: as the ending says
 * - refused: the hold had been resolved in another way, so nobody is charged; a cost is booked as ours
 * - void, passed: as the record says; nothing was booked
 */
export type Booked = "booked" | "refused" | "void" | "passed";

export class Booking<K extends Kinds> {
  readonly #billing: Billing;
  readonly #record: RequestRecord<K>;
  readonly #events: PaidRequestEvents<K>;

  constructor(billing: Billing, record: RequestRecord<K>, events: PaidRequestEvents<K>) {
    this.#billing = billing;
    this.#record = record;
    this.#events = events;
  }

  /** Ends a request. @param product what this process made of it. @throws when it is not known whether it was booked */
  async end(order: K["order"], ending: Ending, product: K["product"] | undefined): Promise<Booked> {
    const recorded = await this.#record.end(order, ending, product);
    return recorded === "recorded" ? this.book(order.id, ending) : recorded;
  }

  /** Tells billing what the record says; may be repeated. @throws ServiceError when billing cannot be reached */
  async book(id: string, ending: Ending): Promise<"booked" | "refused"> {
    let asRecorded = true;
    if (ending.kind === "captured") {
      const { charge: credits, cost } = ending.bill;
      asRecorded = await this.#billing.capture({ holdId: id, credits, cost });
    } else await this.#billing.release(id, ending.reason, ending.cost, ending.provider);
    // The money is where it belongs; without the mark it is booked once more, which changes nothing.
    try {
      await this.#record.booked(id, asRecorded);
    } catch (error) {
      this.#events.notBooked(id, error);
    }
    return asRecorded ? "booked" : "refused";
  }
}
