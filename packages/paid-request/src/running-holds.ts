// RunningHolds stores the size and the deadline of each hold of this process's running requests, and extends them.
// No hold grows above the client's own limit, and no charge is above its hold.
// Billing decides each extension; the sizes here are copies, because a stream reads them at each of its events.
import type { Billing } from "@gr/clients";
import { type Credits, larger, smaller } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { tooLate } from "./errors.ts";
import { tooDear } from "./max-cost.ts";
import type { Order } from "./order.ts";
import type { Extension, Kinds, PaidRequestEvents } from "./ports.ts";

interface RunningHold {
  readonly accountId: string;
  readonly credits: Credits;
  /** Unix milliseconds. */
  readonly deadlineAt: number;
  readonly maxCost: Credits | undefined;
  /** Settles when no extension is under way. */
  readonly settled: Promise<unknown>;
}

const SETTLED = Promise.resolve();

export class RunningHolds<K extends Kinds> {
  readonly #billing: Pick<Billing, "extend">;
  readonly #events: Pick<PaidRequestEvents<K>, "notBooked" | "notCovered">;
  readonly #resolvedElsewhere: (id: string) => void;
  readonly #holds = new Map<string, RunningHold>();

  constructor(
    billing: Pick<Billing, "extend">,
    events: Pick<PaidRequestEvents<K>, "notBooked" | "notCovered">,
    resolvedElsewhere: (id: string) => void,
  ) {
    this.#billing = billing;
    this.#events = events;
    this.#resolvedElsewhere = resolvedElsewhere;
  }

  add({ id, accountId, deadlineAt, maxCost }: Order, credits: Credits): void {
    this.#holds.set(id, { accountId, credits, deadlineAt, maxCost, settled: SETTLED });
  }

  remove(id: string): void {
    this.#holds.delete(id);
  }

  /** Size of the order's hold; of one that another process placed, the size in the order. */
  heldFor({ id, credits }: Pick<Order, "id" | "credits">): Credits {
    return this.#holds.get(id)?.credits ?? credits;
  }

  /** Extends the holds that end before `endingAt` to `deadlineAt`; both are Unix milliseconds. */
  async prolong(endingAt: number, deadlineAt: number): Promise<void> {
    const ending = [...this.#holds].filter(([, hold]) => hold.deadlineAt < endingAt);
    await Promise.all(ending.map(([id]) => this.extend(id, deadlineAt)));
  }

  /** @param least undefined: as many credits as it has */
  extend(id: string, deadlineAt: number, least?: Credits, most?: Credits): Promise<Extension> {
    const hold = this.#holds.get(id);
    if (hold === undefined) return Promise.resolve({ refused: tooLate() });
    const extended = this.#extend(id, hold, deadlineAt, least, most);
    this.#holds.set(id, { ...hold, settled: Promise.all([hold.settled, extended]) });
    return extended;
  }

  async #extend(
    id: string,
    hold: RunningHold,
    deadlineAt: number,
    least?: Credits,
    most?: Credits,
  ): Promise<Extension> {
    const { accountId, maxCost } = hold;
    const wanted = { credits: least ?? hold.credits, deadlineAt: Math.max(deadlineAt, hold.deadlineAt) };
    if (maxCost !== undefined && wanted.credits > larger(maxCost, hold.credits)) {
      return { refused: tooDear(maxCost) };
    }
    const mostCredits = most === undefined || maxCost === undefined ? most : smaller(most, maxCost);
    try {
      const extended = await this.#billing.extend({ accountId, holdId: id, ...wanted, mostCredits });
      if (extended.kind === "refused") return { refused: extended.error };
      if (extended.kind === "resolved") {
        this.#resolvedElsewhere(id);
        return { refused: tooLate() };
      }
      const { held } = extended;
      // Other extensions may have been under way, and the request may have ended.
      const now = this.#holds.get(id);
      if (now !== undefined) {
        this.#holds.set(id, {
          ...now,
          credits: larger(held, now.credits),
          deadlineAt: Math.max(wanted.deadlineAt, now.deadlineAt),
        });
      }
      return { held };
    } catch (cause) {
      this.#events.notBooked(id, cause);
      return { refused: new ServiceError("billing_unavailable", "Billing cannot be reached.", { cause }) };
    }
  }

  /**
   * Returns the bill with a charge that the hold covers. The hold grows once to the charge, if key and account can pay and
   * the client's limit allows it; a remainder is our loss.
   */
  async cover(order: K["order"], bill: K["bill"]): Promise<K["bill"]> {
    const { charge } = bill;
    if (charge <= this.heldFor(order)) return bill;
    await this.#holds.get(order.id)?.settled;
    if (charge <= this.heldFor(order)) return bill;
    await this.extend(order.id, 0, order.maxCost === undefined ? charge : smaller(charge, order.maxCost));
    const held = this.heldFor(order);
    if (charge <= held) return bill;
    this.#events.notCovered(order, bill, held);
    return { ...bill, charge: held };
  }
}
