// Booking turns the end of a request into money. The record decides first, as one change with one winner. Billing
// follows the record, so each later process sends billing the same ending.
import type { Billing } from "@gr/clients";
import type { Ending, Order } from "./order.ts";
import type { Kinds, PaidRequestEvents, RequestRecord } from "./ports.ts";

/**
 * `booked`: as the ending demands.
 * `refused`: the hold had been resolved in another way, so nobody is charged. A cost is booked as ours.
 * `void`, `passed`: the record decided. Nothing was booked.
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

  /** Ends a request. @param product the answer, if this process produced it. @throws if the booking is uncertain */
  async end(order: K["order"], ending: Ending, product: K["product"] | undefined): Promise<Booked> {
    const recorded = await this.#record.end(order, ending, product);
    return recorded === "recorded" ? this.book(order, ending) : recorded;
  }

  /** Books the recorded ending at billing; may be repeated. @throws ServiceError if billing cannot be reached */
  async book(
    { id, accountId }: Pick<Order, "id" | "accountId">,
    ending: Ending,
  ): Promise<"booked" | "refused"> {
    let asRecorded = true;
    if (ending.kind === "captured") {
      const { charge: credits, cost } = ending.bill;
      asRecorded = await this.#billing.capture({ accountId, holdId: id, credits, cost });
    } else {
      const { reason, cost, provider } = ending;
      await this.#billing.release({ accountId, holdId: id }, reason, cost, provider);
    }
    // The money is booked. Without the mark, a later round books it again, with no effect.
    try {
      await this.#record.booked(id, asRecorded);
    } catch (error) {
      this.#events.notBooked(id, error);
    }
    return asRecorded ? "booked" : "refused";
  }
}
