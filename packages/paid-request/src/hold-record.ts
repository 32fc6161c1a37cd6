// The record of a request that has none of its own but its hold: a kept answer decides how a claimed request ended, and
// the resolution of the hold decides for all others.
import { type Billing, type KeptAnswer, type LeasedHold, MOST_KEPT_BYTES } from "@gr/clients";
import type { Ending } from "./order.ts";
import type { Due, HoldTrace, Kinds, RequestRecord } from "./ports.ts";

/** Look-ups in memory. A dropped one costs only another round. */
const MOST_REMEMBERED = 10_000;

export class HoldRecord<K extends Kinds> implements RequestRecord<K> {
  readonly #billing: Billing;
  readonly #answerOf: (product: K["product"]) => KeptAnswer | undefined;
  readonly #notKept: (order: K["order"]) => void;
  /** Look-ups that found no bill, by request. */
  #unbilled = new Map<string, number>();

  /**
   * @param answerOf answer for a repeat of a claimed request; undefined if it is too large to be kept
   * @param notKept receives the order of an answer that cannot be repeated
   */
  constructor(
    billing: Billing,
    answerOf: (product: K["product"]) => KeptAnswer | undefined,
    notKept: (order: K["order"]) => void,
  ) {
    this.#billing = billing;
    this.#answerOf = answerOf;
    this.#notKept = notKept;
  }

  async open(): Promise<boolean> {
    return true;
  }

  async next(): Promise<boolean> {
    return true;
  }

  async end(
    order: K["order"],
    ending: Ending,
    product: K["product"] | undefined,
  ): Promise<"recorded" | "void"> {
    if (ending.kind === "released" || order.claim === undefined || product === undefined) return "recorded";
    const answer = this.#answerOf(product);
    if (answer === undefined || answer.body.byteLength > MOST_KEPT_BYTES) {
      this.#notKept(order);
      return "recorded";
    }
    const { charge: credits, cost } = ending.bill;
    const kept = await this.#billing.keepAnswer(
      { accountId: order.accountId, holdId: order.id, credits, cost },
      answer,
    );
    // Billing refused to keep the answer, so the process that resolves the hold releases it.
    return kept ? "recorded" : "void";
  }

  async keepOpen(): Promise<"search"> {
    return "search";
  }

  async booked(id: string): Promise<void> {
    this.#unbilled.delete(id);
  }

  async renew(): Promise<void> {}

  async due(): Promise<Due<K>[]> {
    return [];
  }

  async ofHold({ holdId: id, provider, upstreamModel, deadlineAt, kept }: LeasedHold): Promise<HoldTrace> {
    if (kept !== undefined) {
      const bill = { charge: kept.credits, cost: kept.cost };
      return { kind: "ended", ending: { kind: "captured", bill } };
    }
    const unbilledLookUps = this.#unbilled.get(id) ?? 0;
    return { kind: "lost", lost: { id, route: { provider, upstreamModel }, deadlineAt, unbilledLookUps } };
  }

  async putOff(id: string, _waitMs: number, unbilled: boolean): Promise<void> {
    if (!unbilled) return;
    if (this.#unbilled.size >= MOST_REMEMBERED) this.#unbilled = new Map();
    this.#unbilled.set(id, (this.#unbilled.get(id) ?? 0) + 1);
  }
}
