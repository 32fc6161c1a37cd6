// WebhookSender delivers events to their receivers: due rows in rounds, many attempts at the same time. An event is
// delivered at least once, always under the same id; its row outlives any crash. No attempt waits for another.
import type { Timer } from "@gr/runtime";
import { type Outbound, OutboundError } from "../providers/outbound.ts";
import { bodyOf, type Delivery, publicIdOf } from "./delivery.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { ReceiverStore } from "./receiver-store.ts";
import { type Failure, nextAttemptAt } from "./retry-schedule.ts";
import { SenderPlaces } from "./sender-places.ts";
import { signedHeaders } from "./signing-secret.ts";
import type { WebhookEvents } from "./webhook-events.ts";

const ROUND_EVERY_MS = 1_000;
/** Time in which a receiver must answer. */
const ATTEMPT_MS = 15_000;
/** Time after which another process may repeat the attempt of a dead process. */
const LEASE_MS = 60_000;
const MOST_CANDIDATES = 200;
/** Term of ended deliveries in the log, in milliseconds. */
const LOG_TERM_MS = 30 * 86_400_000;
const MOST_DELETED = 1_000;
const MOST_RETRY_AFTER_SECONDS = 86_400;

export interface WebhookSenderOptions {
  readonly deliveries: DeliveryStore;
  readonly receivers: Pick<ReceiverStore, "secretsOf">;
  readonly outbound: Pick<Outbound, "post">;
  readonly events: WebhookEvents;
  readonly clock: Timer;
  /** Returns a number from 0 to 1. */
  readonly random?: () => number;
}

export class WebhookSender {
  readonly #options: WebhookSenderOptions;
  readonly #places = new SenderPlaces();
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #wake = new AbortController();
  #rounds: Promise<void> | undefined;

  constructor(options: WebhookSenderOptions) {
    this.#options = options;
  }

  start(): void {
    this.#rounds ??= this.#repeatRounds();
  }

  /** Interrupts the attempts; another process repeats them. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the process stops"));
    await this.#rounds;
    await this.settled();
  }

  /** Begins the attempts that are due, as far as places are free. Resolves when they have begun. */
  async round(): Promise<void> {
    const { deliveries, clock } = this.#options;
    while (this.#places.free > 0 && !this.#stopping.signal.aborted) {
      const now = clock.now();
      const due = await deliveries.findDue(now, this.#places.excluded(), MOST_CANDIDATES);
      const chosen = due.filter((delivery) => this.#places.enter(delivery));
      if (chosen.length === 0) return;
      const ids = chosen.map(({ id }) => id);
      const claimed = new Map<string, Delivery>();
      try {
        for (const one of await deliveries.claim(ids, now, now + LEASE_MS)) claimed.set(one.id, one);
      } finally {
        for (const one of chosen) if (!claimed.has(one.id)) this.#places.leave(one);
      }
      // Another process has leased them.
      if (claimed.size === 0) return;
      for (const delivery of claimed.values()) this.#begin(delivery);
    }
  }

  /** Resolves when no attempt is running. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** Deletes deliveries at the end of their term in the log. */
  async sweep(): Promise<void> {
    const { deliveries, clock } = this.#options;
    const before = clock.now() - LOG_TERM_MS;
    while ((await deliveries.deleteEnded(before, MOST_DELETED)) === MOST_DELETED);
  }

  async #repeatRounds(): Promise<void> {
    const { clock, events } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      await this.round().catch(events.roundFailed);
      await clock.sleep(ROUND_EVERY_MS, AbortSignal.any([signal, this.#wake.signal]));
    }
  }

  #begin(delivery: Delivery): void {
    const attempt = this.#attempt(delivery)
      .catch((error) => this.#options.events.notRecorded(delivery, error))
      .finally(() => {
        this.#running.delete(attempt);
        this.#places.leave(delivery);
        // Its place may be the one that another delivery waits for.
        this.#wake.abort();
      });
    this.#running.add(attempt);
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const { deliveries, events, clock, random = Math.random } = this.#options;
    const end = await this.#send(delivery);
    const now = clock.now();
    if (end === undefined) return deliveries.release(delivery.id, now);
    if ("delivered" in end) {
      await deliveries.recordDelivered(delivery.id, end.delivered, now);
      events.delivered(delivery);
      return;
    }
    const attempts = delivery.attempts + 1;
    const nextAt = nextAttemptAt({ startedAt: delivery.startedAt, attempts }, end, now, random());
    await deliveries.recordFailure(delivery.id, end, now, nextAt);
    events.notDelivered(delivery, end, nextAt);
  }

  /** @returns the status of a success, the failure, or undefined if this process stops */
  async #send(delivery: Delivery): Promise<{ readonly delivered: number } | Failure | undefined> {
    const { receivers, outbound, clock } = this.#options;
    const now = clock.now();
    const secrets = await receivers.secretsOf(delivery.accountId, now);
    const body = bodyOf(delivery);
    const headers = {
      "content-type": "application/json",
      "user-agent": "generation-router-webhooks",
      ...signedHeaders(publicIdOf(delivery), now, body, secrets),
    };
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(ATTEMPT_MS)]);
    try {
      const { status, header } = await outbound.post({ url: delivery.url, headers, body, signal });
      if (status >= 200 && status < 300) return { delivered: status };
      return {
        status,
        error: `the receiver answered ${status}`,
        retryAfterMs: pauseOf(header("retry-after"), now),
      };
    } catch (error) {
      if (this.#stopping.signal.aborted) return undefined;
      if (!(error instanceof OutboundError)) throw error;
      return { error: TEXTS[error.kind], isFinal: error.kind === "refused" };
    }
  }
}

const TEXTS: Readonly<Record<OutboundError["kind"], string>> = {
  not_sent: "the receiver was not reached",
  timeout: "the receiver did not answer in time",
  lost: "the connection broke before the receiver answered",
  unreadable: "the receiver's answer was not HTTP",
  refused: "the address is not in the public internet",
};

/** Reads seconds or a date. @returns milliseconds, at most one day */
function pauseOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1_000;
  if (Number.isNaN(seconds)) return undefined;
  return Math.max(0, Math.min(seconds, MOST_RETRY_AFTER_SECONDS)) * 1_000;
}
