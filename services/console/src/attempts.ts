// Limits against guessing and flooding, counted in PostgreSQL, so that all processes share them. Counted by the address of
// the person, by network, and by both: a stranger's guesses do not lock a person out elsewhere until there are many.
import { ServiceError } from "@gr/proto";
import type { Clock } from "@gr/runtime";
import { digestText } from "./people.ts";
import type { ConsoleStore } from "./store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Limit {
  /** In one window. */
  readonly most: number;
  readonly windowMs: number;
}

const WRONG_PASSWORDS = {
  here: { most: 10, windowMs: 15 * MINUTE_MS },
  network: { most: 50, windowMs: 15 * MINUTE_MS },
  everywhere: { most: 100, windowMs: 15 * MINUTE_MS },
} as const satisfies Record<string, Limit>;
const MAILS = {
  person: { most: 5, windowMs: HOUR_MS },
  network: { most: 30, windowMs: HOUR_MS },
} as const satisfies Record<string, Limit>;
/** Sign-ins that have no password to guess: there is nothing to find by trying, and no reason to be flooded. */
const SIGN_INS: Limit = { most: 100, windowMs: 15 * MINUTE_MS };
const PAYMENTS: Limit = { most: 30, windowMs: HOUR_MS };
const ACCOUNTS: Limit = { most: 5, windowMs: 24 * HOUR_MS };

export interface Attempts {
  /**
   * Runs a check of a password, unless there were too many wrong ones.
   * @throws ServiceError too_many_attempts; whatever the check throws
   */
  guardPassword<T>(email: string, network: string, check: () => Promise<T>): Promise<T>;
  /** @throws ServiceError too_many_attempts */
  countMail(email: string, network: string): Promise<void>;
  /** @throws ServiceError too_many_attempts */
  countSignIn(network: string): Promise<void>;
  /** @throws ServiceError too_many_attempts */
  countAccount(personId: string): Promise<void>;
  /** @throws ServiceError too_many_attempts */
  countPayment(accountId: string): Promise<void>;
}

export function createAttempts(store: ConsoleStore, clock: Clock): Attempts {
  const refuse = (endsAt: Date): never => {
    const retryAfterMs = Math.max(1_000, endsAt.getTime() - clock.now());
    throw new ServiceError("too_many_attempts", "Too many attempts; try again later.", { retryAfterMs });
  };
  const count = async (subject: string, { most, windowMs }: Limit) => {
    const { count: made, endsAt } = await store.countAttempt(subject, windowMs);
    if (made > most) refuse(endsAt);
  };
  return {
    guardPassword: async (email, network, check) => {
      const who = digestText(email);
      const here = `password:${who}@${network}`;
      const limits: readonly [string, Limit][] = [
        [here, WRONG_PASSWORDS.here],
        [`password:@${network}`, WRONG_PASSWORDS.network],
        [`password:${who}`, WRONG_PASSWORDS.everywhere],
      ];
      // Counted before the check, so that guesses at the same moment count, too.
      for (const [subject, limit] of limits) await count(subject, limit);
      const result = await check();
      await store.forgetAttempts(here);
      return result;
    },
    countMail: async (email, network) => {
      await count(`mail:@${network}`, MAILS.network);
      await count(`mail:${digestText(email)}`, MAILS.person);
    },
    countSignIn: (network) => count(`sign-in:@${network}`, SIGN_INS),
    countAccount: (personId) => count(`account:${personId}`, ACCOUNTS),
    countPayment: (accountId) => count(`payment:${accountId}`, PAYMENTS),
  };
}
