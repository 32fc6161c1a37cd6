// GenerationRecord stores paid requests in the log. The row first records the end of a generation, as one change with
// one winner. Billing then books the row's ending. The files of unpaid generations are deleted here.

import type { Due, Ending, HoldTrace, RequestRecord, Route } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { type Clock, isServerTrouble } from "@gr/runtime";
import { deleteMedia } from "../storage/delete-media.ts";
import type { MediaStorage } from "../storage/media-storage.ts";
import type { GenerationEvents } from "./events.ts";
import type { Generation, MediaKinds, MediaOrder, MediaProduct } from "./generation.ts";
import type { GenerationStore } from "./store.ts";

const MOST_DUE = 100;
const BUSY_RETRY_MS = 1_000;
/** Orders in `#unrecorded`. Files of further orders stay until their retention ends. */
const MOST_UNRECORDED = 1_000;

export interface GenerationRecordOptions {
  readonly store: GenerationStore;
  readonly storage: MediaStorage;
  readonly events: GenerationEvents;
  readonly clock: Clock;
  /** Silence after which a generation's process counts as dead, in milliseconds. */
  readonly leaseMs: number;
  /** Returns the function that continues another process's generation; undefined if this process cannot. */
  resumeOf(generation: Generation): Due<MediaKinds>["resume"];
  /** Called for a generation of this process that another process has claimed. */
  passed(id: string): void;
  /** Called for a generation of this process that its client has cancelled. */
  cancelled(id: string): void;
}

export class GenerationRecord implements RequestRecord<MediaKinds> {
  readonly #options: GenerationRecordOptions;
  /**
   * Orders with stored files whose end PostgreSQL did not confirm. Another process may have ended them before, and a client
   * may have deleted them: then each round here deletes the files.
   */
  readonly #unrecorded = new Map<string, MediaOrder>();

  constructor(options: GenerationRecordOptions) {
    this.#options = options;
  }

  async open(order: MediaOrder, route: Route): Promise<boolean> {
    const { store, leaseMs } = this.#options;
    try {
      return await store.insert(order, route, leaseMs);
    } catch (cause) {
      if (!isServerTrouble(cause)) throw cause;
      const message = "Media cannot be generated at the moment; try again shortly. You are not charged.";
      throw new ServiceError("service_unavailable", message, { retryAfterMs: BUSY_RETRY_MS, cause });
    }
  }

  next(order: MediaOrder, route: Route): Promise<boolean> {
    return this.#options.store.reroute(order.id, route, order.attempts);
  }

  async end(
    order: MediaOrder,
    ending: Ending,
    product: MediaProduct | undefined,
  ): Promise<"recorded" | "passed"> {
    const { store, clock } = this.#options;
    const finishedAt = product?.finishedAt ?? clock.now();
    const ended = await store.finish(order, ending, finishedAt, product).catch((error: unknown) => {
      if (product !== undefined && this.#unrecorded.size < MOST_UNRECORDED)
        this.#unrecorded.set(order.id, order);
      throw error;
    });
    if (ended !== undefined) {
      if (ending.kind === "released" || ended.deleted) await this.#discard(order);
      return "recorded";
    }
    await this.#discardUnlessPaid(order);
    return "passed";
  }

  async keepOpen({ id, attempts }: MediaOrder, why: string, message: string): Promise<"recorded" | "passed"> {
    const resumable = await this.#options.store.markUnknown(id, why, message, attempts);
    return resumable === false ? "recorded" : "passed";
  }

  async booked(id: string, asRecorded: boolean): Promise<void> {
    const { store } = this.#options;
    if (asRecorded) return store.markBooked(id);
    const outputs = await store.markRefused(id);
    await this.#discard({ id, outputs });
  }

  async renew(ids: readonly string[]): Promise<void> {
    const { store, leaseMs, passed, cancelled } = this.#options;
    const dropped = await store.renew(ids, leaseMs);
    for (const id of dropped.passed) passed(id);
    for (const id of dropped.cancelled) cancelled(id);
  }

  async due(except: readonly string[]): Promise<Due<MediaKinds>[]> {
    const { store, leaseMs } = this.#options;
    for (const order of this.#unrecorded.values()) await this.#discardUnlessPaid(order);
    return Promise.all((await store.claimDue(MOST_DUE, leaseMs, except)).map((one) => this.#dueOf(one)));
  }

  async ofHold({ holdId }: { readonly holdId: string }): Promise<HoldTrace> {
    const generation = await this.#options.store.find(holdId);
    // The row is written after the hold and before the call.
    if (generation === undefined) return { kind: "not sent" };
    const { ended } = generation;
    return ended === null ? { kind: "elsewhere" } : { kind: "ended", ending: ended.ending };
  }

  putOff(id: string, waitMs: number, unbilled: boolean): Promise<void> {
    return this.#options.store.postpone(id, waitMs, unbilled);
  }

  async #dueOf(generation: Generation): Promise<Due<MediaKinds>> {
    const { order, route, ended, unbilledLookUps, deleted } = generation;
    const ending = ended?.ending;
    // Its process may have died before it deleted them.
    if (ending?.kind === "released" || (ending !== undefined && deleted)) await this.#discard(order);
    const resume = ending === undefined ? this.#options.resumeOf(generation) : undefined;
    const { id, deadlineAt, hasSeveralBills } = order;
    return { id, deadlineAt, hasSeveralBills, order, route, unbilledLookUps, ending, resume };
  }

  /** Another process has ended the generation, or will: the files belong to its success, or to no generation. */
  async #discardUnlessPaid(order: MediaOrder): Promise<void> {
    try {
      const found = await this.#options.store.find(order.id);
      if (found?.ended == null) return;
      this.#unrecorded.delete(order.id);
      if (found.ended.ending.kind === "released" || found.deleted) await this.#discard(order);
    } catch (error) {
      this.#options.events.notDiscarded(order.id, error);
    }
  }

  /** Never rejects: the booking has priority over the deletion. */
  async #discard({ id, outputs }: Pick<MediaOrder, "id" | "outputs">): Promise<void> {
    const { storage, events } = this.#options;
    await deleteMedia(storage, outputs).catch((error) => events.notDiscarded(id, error));
  }
}
