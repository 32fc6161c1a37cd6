// Continuation decides whether another provider continues an answer that its provider broke off. The client pays for
// all parts, so the hold covers them and the text that the next provider reads again, before that provider is called.
// Services only compute the cost of a part and whether a provider can continue it; they reserve and book nothing.
import { type Credits, chargeOf, PICO_PER_CREDIT, type PicoUsd, smaller } from "@gr/money";
import { type BillLookUpDeps, lookUpBill } from "./bill-look-up.ts";
import type { Bill, Order, Route } from "./order.ts";
import type { AttemptEnd, Broken, Extension, Failed, Kinds } from "./ports.ts";

/** Cost of all parts, as far as it is charged: the bill of each part, but not more than its charge. */
export function costOfParts(parts: readonly Bill[]): PicoUsd {
  return parts.reduce((sum, { cost, charge }) => sum + smaller(cost, charge * PICO_PER_CREDIT), 0n);
}

/** Returns the charge of an answer. @param last charged cost of its last part. @param parts bills of the parts before */
export function chargeOfParts(last: PicoUsd, parts: readonly Bill[]): Credits {
  return chargeOf(last + costOfParts(parts));
}

export interface ContinuationOptions<K extends Kinds> extends BillLookUpDeps<K> {
  readonly order: Order;
  readonly held: () => Credits;
  readonly extend: (least: Credits) => Promise<Extension>;
  /** Receives the bill of each part, once it is certain. */
  readonly billed: (route: Route, bill: Bill) => void;
}

/** The parts of one answer. */
export class Continuation<K extends Kinds> {
  readonly #options: ContinuationOptions<K>;
  #parts: readonly K["bill"][] = [];

  constructor(options: ContinuationOptions<K>) {
    this.#options = options;
  }

  /**
   * Returns the end of an attempt. A broken attempt that another provider continues is a failure with a certain cost,
   * after which that provider is next; its part is charged with the answer.
   * @param next undefined if no provider remains, or the client no longer wants the answer
   */
  async settle(
    end: AttemptEnd<K> | Broken<K>,
    route: Route,
    next: Route | undefined,
  ): Promise<AttemptEnd<K>> {
    if (end.kind !== "broken") return end;
    if (next === undefined) return end.otherwise();
    const { order, held, extend, billed } = this.#options;
    const found = await lookUpBill(this.#options, order.id, route.provider, end.billId);
    const bill = end.billOf(found);
    billed(route, bill);
    const parts = [...this.#parts, bill];
    const readAgain = end.continueAt(next, parts);
    if (readAgain === undefined) return end.otherwise();
    const extended = await extend(held() + chargeOfParts(readAgain, parts));
    if ("refused" in extended) return end.otherwise();
    this.#parts = parts;
    return continued(end, end.isBilled ? bill.cost : 0n, end.isBilled && found === undefined);
  }
}

/** @param isMetered true if the provider did not report the cost, so that a search for its bill follows */
function continued<K extends Kinds>(
  { error, billId, message }: Broken<K>,
  cost: PicoUsd,
  isMetered: boolean,
): Failed {
  return {
    ...{ kind: "failed", error, billId, message, why: "broke_off" },
    ...{ cost, isMetered: isMetered, isUnsent: false, mayFallBack: true },
  };
}
