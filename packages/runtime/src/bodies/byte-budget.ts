// How many bytes of what callers send a process holds at the same time, over all requests, and how many of them may be one
// owner's. Counted as they arrive; what does not fit any more is refused. Nobody waits: two bodies that have half of it
// each would wait for ever.
import { ServiceError } from "@gr/proto";

const RETRY_AFTER_MS = 2_000;
/** An owner may hold so many bytes for each that is free: alone three quarters of all. */
const BYTES_PER_FREE_BYTE = 3;

export class ByteBudget {
  readonly #bytes: number;
  #held = 0;
  /** None is 0. */
  readonly #heldBy = new Map<string, number>();

  /** @param bytes of all requests together */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** What is free at the moment. */
  get left(): number {
    return this.#bytes - this.#held;
  }

  /** For one request; `leave` ends it. @param owner whose share it takes from */
  open(owner: string): Allowance {
    return new Allowance(this, owner);
  }

  /**
   * Refuses what does not fit, or would be more than the owner's share.
   * @throws ServiceError service_unavailable, rate_limit_exceeded
   */
  check(owner: string, bytes: number): void {
    const free = this.left - bytes;
    if (free < 0) throw full();
    if ((this.#heldBy.get(owner) ?? 0) + bytes > BYTES_PER_FREE_BYTE * free) throw shareUsed();
  }

  /** @param bytes below zero gives back */
  change(owner: string, bytes: number): void {
    this.#held += bytes;
    const held = (this.#heldBy.get(owner) ?? 0) + bytes;
    if (held === 0) this.#heldBy.delete(owner);
    else this.#heldBy.set(owner, held);
  }
}

/** What one request holds. It is given back when the exchange with the client and all work with the bytes have ended. */
export class Allowance {
  readonly #budget: ByteBudget;
  readonly #owner: string;
  #held = 0;
  #users = 1;

  constructor(budget: ByteBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Refuses early what is announced and cannot be taken; takes nothing yet. @throws as ByteBudget.check */
  expect(bytes: number): void {
    this.#budget.check(this.#owner, bytes);
  }

  /** @throws as ByteBudget.check */
  take(bytes: number): void {
    if (this.#users === 0) return;
    this.expect(bytes);
    this.#budget.change(this.#owner, bytes);
    this.#held += bytes;
  }

  /** The bytes count as held until the work has ended, also when the client leaves meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#budget.change(this.#owner, -this.#held);
    this.#held = 0;
  }
}

function full(): ServiceError {
  const message = "This process holds as much input as it can; try again shortly. You are not charged.";
  return new ServiceError("service_unavailable", message, { retryAfterMs: RETRY_AFTER_MS });
}

function shareUsed(): ServiceError {
  const message =
    "The requests of this account send more input at the same time than its share; " +
    "try again when some have ended. You are not charged.";
  return new ServiceError("rate_limit_exceeded", message, { retryAfterMs: RETRY_AFTER_MS });
}
