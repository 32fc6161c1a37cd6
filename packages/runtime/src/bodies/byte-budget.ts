// ByteBudget limits the bytes from callers that a process holds at the same time, over all requests and per owner.
// Bytes are counted on arrival, and excess bytes are refused. No request waits: two half-received bodies would wait for
// ever.
import { ServiceError } from "@gr/proto";
import { COLLECTIONS, QUIET_MS, startCollection, WORTH_COLLECTING } from "../process/process-memory.ts";

const RETRY_AFTER_MS = 2_000;
/** Bytes of an owner for each free byte: alone three quarters of all. */
const BYTES_PER_FREE_BYTE = 3;

export class ByteBudget {
  readonly #bytes: number;
  #held = 0;
  /** Bytes of each owner; no entry is 0. */
  readonly #heldBy = new Map<string, number>();

  /** @param bytes of all requests together */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Free bytes. */
  get left(): number {
    return this.#bytes - this.#held;
  }

  /** Opens the allowance of one request; `leave` ends it. @param owner owner of the share that it uses */
  open(owner: string): Allowance {
    return new Allowance(this, owner);
  }

  /**
   * Refuses bytes beyond the budget or beyond the owner's share.
   * @throws ServiceError service_unavailable, rate_limit_exceeded
   */
  check(owner: string, bytes: number): void {
    const free = this.left - bytes;
    if (free < 0) throw full();
    if ((this.#heldBy.get(owner) ?? 0) + bytes > BYTES_PER_FREE_BYTE * free) throw shareUsed();
  }

  /** @param bytes below zero releases them */
  change(owner: string, bytes: number): void {
    this.#held += bytes;
    const held = (this.#heldBy.get(owner) ?? 0) + bytes;
    if (held === 0) this.#heldBy.delete(owner);
    else this.#heldBy.set(owner, held);
  }
}

/**
 * Bytes of one request. They are released after the exchange with the client and all work with the bytes have ended.
 */
export class Allowance {
  readonly #budget: ByteBudget;
  readonly #owner: string;
  #held = 0;
  #users = 1;

  constructor(budget: ByteBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Refuses announced bytes early if there is no room; reserves nothing yet. @throws as ByteBudget.check */
  expect(bytes: number): void {
    this.#budget.check(this.#owner, bytes);
  }

  /** @throws as ByteBudget.check */
  reserve(bytes: number): void {
    if (this.#users === 0) return;
    this.expect(bytes);
    this.#budget.change(this.#owner, bytes);
    this.#held += bytes;
  }

  /** Counts the bytes until the work has ended, even after a disconnect of the client. */
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
    noteUnused(this.#held);
    this.#held = 0;
  }
}

let unusedBytes = 0;
let quiet: NodeJS.Timeout | undefined;

/**
 * V8 collects buffers while a process allocates new ones, so the bodies of a burst would keep their memory. A timer after the burst
 * allocates large buffers, and V8 collects the others beside the work of the process.
 */
function noteUnused(bytes: number): void {
  unusedBytes += bytes;
  if (bytes === 0 || unusedBytes < WORTH_COLLECTING) return;
  clearTimeout(quiet);
  quiet = setTimeout(collect, QUIET_MS, COLLECTIONS).unref();
}

function collect(times: number): void {
  unusedBytes = 0;
  startCollection();
  if (times > 1) quiet = setTimeout(collect, QUIET_MS, times - 1).unref();
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
