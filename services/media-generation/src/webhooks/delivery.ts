// Delivery is one event on its way to one address. Its body stays the same in all attempts, and its id marks repeats for
// the receiver. The shape is that of OpenAI's events, in the envelope of Standard Webhooks.

export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Largest data of an event, in bytes of JSON. */
export const MOST_DATA_BYTES = 16 * 1024;

const ID_PREFIX = "evt_";

export interface WebhookEvent {
  /** UUID. Two events with one id are the same event. */
  readonly id: string;
  readonly accountId: string;
  /** Key of the job; empty for an event of the account. */
  readonly keyId: string;
  readonly url: string;
  readonly type: string;
  readonly data: object;
}

export interface Delivery extends WebhookEvent {
  /** Scheme, host and port of the address. */
  readonly receiver: string;
  readonly state: DeliveryState;
  /** Ended attempts since `startedAt`. */
  readonly attempts: number;
  /** Unix milliseconds, as all times here. */
  readonly startedAt: number;
  readonly dueAt: number;
  readonly createdAt: number;
  readonly lastAttemptAt: number | undefined;
  /** HTTP status of the last answer. */
  readonly lastStatus: number | undefined;
  readonly lastError: string | undefined;
  readonly endedAt: number | undefined;
}

/** Returns the id as receivers and clients see it. */
export function publicIdOf({ id }: Pick<WebhookEvent, "id">): string {
  return ID_PREFIX + id;
}

/** Returns the UUID of an id with or without its prefix. */
export function uuidOf(id: string): string {
  return id.startsWith(ID_PREFIX) ? id.slice(ID_PREFIX.length) : id;
}

export function bodyOf(delivery: Pick<Delivery, "id" | "type" | "data" | "createdAt">): string {
  const { type, data, createdAt } = delivery;
  return JSON.stringify({
    id: publicIdOf(delivery),
    object: "event",
    type,
    created_at: Math.floor(createdAt / 1_000),
    timestamp: new Date(createdAt).toISOString(),
    data,
  });
}
