// FairGate bounds how many works of one kind run at the same time, and shares them fairly among owners.
// An owner that floods waits for itself: the owner with the least work done so far is next, and no owner has all places.
// A queue in order of arrival would be simpler, but one owner could fill it and delay everybody else.
import { ServiceError } from "@gr/proto";

const RETRY_AFTER_MS = 2_000;

export interface FairGateOptions {
  /** Works that run at the same time. */
  readonly places: number;
  /** Works of one owner that run at the same time; below `places`, so that a place is free for another owner. */
  readonly perOwner: number;
  /** Works of one owner that wait at the same time. */
  readonly waitingPerOwner: number;
  /** Works of all owners that wait at the same time. */
  readonly waiting: number;
  /** Names the work in a refusal, in the plural: "picture downloads". */
  readonly name: string;
}

export interface FairWork {
  /** Account or network that pays for the work with its share. */
  readonly owner: string;
  /** Size of the work in any unit that the gate's callers share, for example pixels; 1 by default. */
  readonly cost?: number;
  /** Removes the work from the queue. Running work reads the signal itself. */
  readonly signal?: AbortSignal | undefined;
}

interface Owner {
  running: number;
  /** Cost of the works begun, on the gate's common scale. */
  served: number;
  readonly queue: WaitingTask[];
}

interface WaitingTask {
  readonly cost: number;
  begin(): void;
}

export class FairGate {
  readonly #options: FairGateOptions;
  /** Owners with running or waiting works, and no others. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;
  #waiting = 0;
  /** Value of `served` at which the last work began. A new owner starts here, so that idle time earns no credit. */
  #reached = 0;

  constructor(options: FairGateOptions) {
    this.#options = options;
  }

  /**
   * Runs the work when a place is free for its owner.
   * @throws ServiceError rate_limit_exceeded if too many works of the owner wait, service_unavailable if too many of all
   * owners wait; the signal's reason if it aborts before the work begins
   */
  async run<T>({ owner: name, cost = 1, signal }: FairWork, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const owner = this.#ownerOf(name);
    try {
      if (this.#mayBegin(owner) && owner.queue.length === 0) this.#begin(owner, cost);
      else await this.#turn(owner, cost, signal);
    } catch (error) {
      this.#forgetIdle(name, owner);
      throw error;
    }
    try {
      return await work();
    } finally {
      this.#running -= 1;
      owner.running -= 1;
      this.#forgetIdle(name, owner);
      this.#beginNext();
    }
  }

  #ownerOf(name: string): Owner {
    let owner = this.#owners.get(name);
    if (owner === undefined) {
      owner = { running: 0, served: this.#reached, queue: [] };
      this.#owners.set(name, owner);
    }
    return owner;
  }

  #mayBegin(owner: Owner): boolean {
    return this.#running < this.#options.places && owner.running < this.#options.perOwner;
  }

  #begin(owner: Owner, cost: number): void {
    this.#running += 1;
    owner.running += 1;
    this.#reached = Math.max(this.#reached, owner.served);
    owner.served += cost;
  }

  #turn(owner: Owner, cost: number, signal: AbortSignal | undefined): Promise<void> {
    if (owner.queue.length >= this.#options.waitingPerOwner) throw this.#ownerWaitsTooMuch();
    if (this.#waiting >= this.#options.waiting) throw this.#allWaitTooMuch();
    return new Promise((resolve, reject) => {
      const leave = () => {
        owner.queue.splice(owner.queue.indexOf(waiting), 1);
        this.#waiting -= 1;
        reject(signal?.reason as Error);
      };
      const waiting: WaitingTask = {
        cost,
        begin: () => {
          signal?.removeEventListener("abort", leave);
          this.#waiting -= 1;
          this.#begin(owner, cost);
          resolve();
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      owner.queue.push(waiting);
      this.#waiting += 1;
    });
  }

  #beginNext(): void {
    for (;;) {
      let next: Owner | undefined;
      for (const owner of this.#owners.values()) {
        if (owner.queue.length === 0 || !this.#mayBegin(owner)) continue;
        if (next === undefined || owner.served < next.served) next = owner;
      }
      const waiting = next?.queue.shift();
      if (waiting === undefined) return;
      waiting.begin();
    }
  }

  #forgetIdle(name: string, owner: Owner): void {
    if (owner.running === 0 && owner.queue.length === 0) this.#owners.delete(name);
  }

  #ownerWaitsTooMuch(): ServiceError {
    const message = `Too many ${this.#options.name} of this account wait already. Retry when some have ended. Nothing is charged.`;
    return new ServiceError("rate_limit_exceeded", message, { retryAfterMs: RETRY_AFTER_MS });
  }

  #allWaitTooMuch(): ServiceError {
    const message = `Too many ${this.#options.name} wait in this process. Retry shortly. Nothing is charged.`;
    return new ServiceError("service_unavailable", message, { retryAfterMs: RETRY_AFTER_MS });
  }
}
