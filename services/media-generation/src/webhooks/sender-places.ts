// SenderPlaces bound the attempts that run at the same time: in this process, for each account, for each receiver. A slow
// receiver fills its own places only, and an account uses at most the half of all places.
import type { Delivery } from "./delivery.ts";

const PLACES = 64;
const PLACES_OF_RECEIVER = 4;

type Subject = Pick<Delivery, "accountId" | "receiver">;

export interface Excluded {
  readonly accounts: readonly string[];
  /** Pairs of account and receiver, as `receiverKeyOf` writes them. */
  readonly receivers: readonly string[];
}

/** Two accounts with the same receiver do not share its places. */
export function receiverKeyOf({ accountId, receiver }: Subject): string {
  return `${accountId} ${receiver}`;
}

export class SenderPlaces {
  readonly #ofAccount = new Map<string, number>();
  readonly #ofReceiver = new Map<string, number>();
  #free = PLACES;

  get free(): number {
    return this.#free;
  }

  /** Accounts and receivers that may start no further attempt now. */
  excluded(): Excluded {
    const accounts = [...this.#ofAccount].filter(([, used]) => used >= this.#free).map(([id]) => id);
    const receivers = [...this.#ofReceiver]
      .filter(([, used]) => used >= PLACES_OF_RECEIVER)
      .map(([key]) => key);
    return { accounts, receivers };
  }

  /** @returns false if no place is free for it; otherwise `leave` must follow */
  enter(subject: Subject): boolean {
    const key = receiverKeyOf(subject);
    const ofAccount = this.#ofAccount.get(subject.accountId) ?? 0;
    const ofReceiver = this.#ofReceiver.get(key) ?? 0;
    if (ofAccount >= this.#free || ofReceiver >= PLACES_OF_RECEIVER) return false;
    this.#add(subject, 1);
    return true;
  }

  leave(subject: Subject): void {
    this.#add(subject, -1);
  }

  #add(subject: Subject, places: 1 | -1): void {
    this.#free -= places;
    for (const [used, key] of [
      [this.#ofAccount, subject.accountId],
      [this.#ofReceiver, receiverKeyOf(subject)],
    ] as const) {
      const now = (used.get(key) ?? 0) + places;
      if (now === 0) used.delete(key);
      else used.set(key, now);
    }
  }
}
