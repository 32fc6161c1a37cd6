// What PostgreSQL last said of a spent key or an empty account, kept for at most a second, so that a flood of hopeless
// places costs it one batch. It refuses only what would not fit even if no hold were open: until a deposit, an
// adjustment, a change of the spender or the end of its window that only gets truer, and each of them forgets it.
import type { Credits } from "@gr/money";
import { OutcomeCode } from "@gr/proto/billing";
import type { AccountStore } from "../accounts/account-store.ts";
import type { AdjustmentStore } from "../accounts/adjustment-store.ts";
import type { Period } from "../accounts/spender.ts";
import type { Operation } from "../writer/operation.ts";
import { NO_REFUSAL, type Posted } from "../writer/post-store.ts";

/** How long numbers count at most, from before they were read. */
export const NUMBERS_LIFETIME_MS = 1_000;

/** Who pays for a place. */
export interface Payer {
  readonly accountId: string;
  readonly spenderId: string;
}

/** An account and a spender that may spend, as PostgreSQL saw both in one moment. */
export interface SpendNumbers {
  /** Credits less debits: what is left when no hold is open. Below zero after an overrun. */
  readonly balance: Credits;
  /** What a hold could have taken; never below zero. */
  readonly available: Credits;
  readonly cap: Credits | null;
  /** Charges of the current window. */
  readonly used: Credits;
  readonly period: Period;
  /** End of the window, Unix milliseconds; 0 = never. */
  readonly resetsAt: bigint;
  /** The moment, Unix milliseconds of the ledger's clock. */
  readonly confirmedAt: bigint;
  /** When the window ends or the spender expires, and they mean nothing any more; 0 = never. */
  readonly endsAt: bigint;
}

/** A time of an account without anything that could make room; the next one begins when something has. */
export interface Epoch {
  readonly id: string;
  /** Milliseconds of the mirror's own clock, at the call of `begin`. */
  readonly begunAt: number;
}

export interface SpendMirror {
  /** One answer per place, in order: what PostgreSQL would answer; undefined = ask it. */
  admit(places: readonly AskedPlace[]): Promise<(Posted | undefined)[]>;
  /** Called before numbers of the account are read. Undefined when they could not be kept. */
  begin(accountId: string): Promise<Epoch | undefined>;
  /** Keeps numbers that were read since `begin`, by spender; not when the account was forgotten meanwhile. */
  keep(accountId: string, epoch: Epoch, numbers: ReadonlyMap<string, SpendNumbers>): Promise<void>;
  /** Drops the numbers of an account and ends its epoch. Never rejects. */
  forget(accountId: string): Promise<void>;
}

/** What a place is judged by. */
export interface AskedPlace extends Payer {
  readonly credits: Credits;
  /** Undefined when it is only asked what a place would be answered. */
  readonly holdId: string | undefined;
}

/** A place that the mirror may answer. */
export type MirroredPlace = Operation & Payer & { readonly kind: "place" };

/** A place of nothing is limited in other ways; one with a claim may be a repetition. Both are PostgreSQL's. */
export function isMirrored(operation: Operation): operation is MirroredPlace {
  return (
    operation.kind === "place" &&
    operation.credits > 0n &&
    operation.claim === null &&
    operation.accountId !== null &&
    operation.spenderId !== null
  );
}

/** True for a refusal that numbers can be kept of. */
export function isHopeless({ code, refusal }: Posted): boolean {
  const money = code === OutcomeCode.INSUFFICIENT_CREDITS || code === OutcomeCode.SPEND_LIMIT_EXCEEDED;
  return money && refusal?.inFlight === false;
}

/** In the order of the SQL function `post`: the cap, then the balance. @param now Unix milliseconds. */
export function refusalOf(numbers: SpendNumbers, place: AskedPlace, now: number): Posted | undefined {
  const { confirmedAt, endsAt } = numbers;
  if (endsAt !== 0n && endsAt <= BigInt(Math.ceil(now))) return undefined;
  if (place.holdId !== undefined) {
    // A hold that is older than the numbers may exist: then the place is a repetition, and no refusal answers it.
    const madeAt = timeOf(place.holdId);
    if (madeAt === undefined || madeAt <= confirmedAt) return undefined;
  }
  return moneyRefusal(numbers, place.credits);
}

/** Of a hold of this size, when it would not fit even if no hold were open. */
export function moneyRefusal(numbers: SpendNumbers, credits: Credits): Posted | undefined {
  const { balance, available } = numbers;
  const refusal = capRefusal(numbers, credits);
  if (refusal !== undefined || credits <= balance) return refusal;
  return { code: OutcomeCode.INSUFFICIENT_CREDITS, refusal: { ...NO_REFUSAL, available } };
}

/** Of a hold of this size, when it would not fit into the spender's cap even if no hold were open. */
export function capRefusal(
  { available, cap, used, period, resetsAt }: SpendNumbers,
  credits: Credits,
): Posted | undefined {
  if (cap === null || credits === 0n || used + credits <= cap) return undefined;
  return {
    code: OutcomeCode.SPEND_LIMIT_EXCEEDED,
    refusal: { ...NO_REFUSAL, available, cap, period, resetsAt },
  };
}

/** When numbers that were read in this epoch die, by the mirror's own clock. */
export function deathOf({ begunAt }: Epoch, { confirmedAt, endsAt }: SpendNumbers): number {
  const untilEnd = endsAt === 0n ? NUMBERS_LIFETIME_MS : Number(endsAt - confirmedAt);
  return begunAt + Math.min(NUMBERS_LIFETIME_MS, untilEnd);
}

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7/;

/** Unix milliseconds at which an id was made; undefined when it does not say. */
/** @returns Unix milliseconds of a UUID of version 7; undefined for other ids */
export function timeOf(id: string): bigint | undefined {
  const parts = UUID_V7.exec(id);
  return parts === null ? undefined : BigInt(`0x${parts[1]}${parts[2]}`);
}

export function forgettingAccounts(accounts: AccountStore, mirror: SpendMirror): AccountStore {
  return {
    ...accounts,
    putSpender: forgetting(mirror, accounts.putSpender),
    putDeposit: forgetting(mirror, accounts.putDeposit),
  };
}

export function forgettingAdjustments({ put }: AdjustmentStore, mirror: SpendMirror): AdjustmentStore {
  return { put: forgetting(mirror, put) };
}

/**
 * What may make room for a place (deposits, adjustments, changes of spenders) answers after the mirror was asked to forget
 * the account, so whoever has the answer is not refused by older numbers.
 */
type Change = { readonly accountId: string };

/** Also after a failure, which may be that of a connection after the commit. */
function forgetting<C extends Change>(mirror: SpendMirror, change: (to: C) => Promise<void>) {
  return async (to: C): Promise<void> => {
    try {
      await change(to);
    } finally {
      await mirror.forget(to.accountId);
    }
  };
}
