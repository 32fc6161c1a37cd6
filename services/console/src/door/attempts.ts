// Attempts are limits against guessing and flooding, counted in PostgreSQL, so that all processes share them. They
// count by the address of the person, by network, and by both: a few wrong guesses of a stranger lock no person out
// elsewhere.
import { ServiceError } from "@gr/proto";
import type { Clock } from "@gr/runtime";
import { digestText } from "../people/people.ts";
import type { ConsoleStore } from "../store.ts";

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
  recipient: { most: 5, windowMs: HOUR_MS },
  network: { most: 30, windowMs: HOUR_MS },
  account: { most: 100, windowMs: 24 * HOUR_MS },
} as const satisfies Record<string, Limit>;
/** Mails that report a change to a person. Their own limit, because strangers can use up the limit MAILS. */
const NOTICES: Limit = { most: 20, windowMs: HOUR_MS };
/** Sign-ins without a password to guess: the limit only prevents floods. */
const SIGN_INS: Limit = { most: 100, windowMs: 15 * MINUTE_MS };
/** Mails about alerts, each to all recipients of an account. */
const ALERT_MAILS: Limit = { most: 20, windowMs: 24 * HOUR_MS };
const ALERT_TESTS: Limit = { most: 10, windowMs: HOUR_MS };
const PAYMENTS: Limit = { most: 30, windowMs: HOUR_MS };
const ACCOUNTS: Limit = { most: 5, windowMs: 24 * HOUR_MS };

/** A mail before it is sent. */
export interface CountedMail {
  /** Address of the recipient. */
  readonly email: string;
  /** The client's network. */
  readonly network: string;
  /** The account that sends the mail; absent for mails that anybody may request. */
  readonly accountId?: string;
}

export interface Attempts {
  /**
   * Runs a check of a password, unless there were too many wrong ones.
   * @throws ServiceError too_many_attempts; errors of the check
   */
  guardPassword<T>(email: string, network: string, check: () => Promise<T>): Promise<T>;
  /** Counts a mail that a signed-in person sends. @throws ServiceError too_many_attempts */
  countMail(mail: CountedMail): Promise<void>;
  /**
   * Counts a mail that anybody may request. Strangers get the same answer either way.
   * @returns false over the limit: nothing may be sent
   */
  mayMail(mail: CountedMail): Promise<boolean>;
  /** Counts a mail that reports a change to a person. @throws ServiceError too_many_attempts */
  countNotice(email: string): Promise<void>;
  /** @throws ServiceError too_many_attempts */
  countSignIn(network: string): Promise<void>;
  /** @throws ServiceError too_many_attempts */
  countAccount(personId: string): Promise<void>;
  /** Counts a mail about alerts. @returns false over the limit of the account: nothing may be sent */
  mayMailAlert(accountId: string): Promise<boolean>;
  /** @throws ServiceError too_many_attempts */
  countAlertTest(accountId: string): Promise<void>;
  /** @throws ServiceError too_many_attempts */
  countPayment(accountId: string): Promise<void>;
}

type MailSubject = "this network" | "this account" | "this address";

interface MailExcess {
  readonly of: MailSubject;
  /** End of the window. */
  readonly endsAt: Date;
}

export function createAttempts(store: ConsoleStore, clock: Clock): Attempts {
  const refuse = (endsAt: Date, message: string): never => {
    const retryAfterMs = Math.max(1_000, endsAt.getTime() - clock.now());
    throw new ServiceError("too_many_attempts", message, { retryAfterMs });
  };
  /** @returns the end of the window if the limit is exceeded */
  const exceeds = async (subject: string, { most, windowMs }: Limit): Promise<Date | undefined> => {
    const { count: counted, endsAt } = await store.countAttempt(subject, windowMs);
    return counted > most ? endsAt : undefined;
  };
  const count = async (subject: string, limit: Limit, message = "Too many attempts; try again later.") => {
    const endsAt = await exceeds(subject, limit);
    if (endsAt !== undefined) refuse(endsAt, message);
  };
  /** The recipient last: a network or an account over its limit uses up no recipient's. */
  const exceedsMails = async ({
    email,
    network,
    accountId,
  }: CountedMail): Promise<MailExcess | undefined> => {
    const limits: [MailSubject, string, Limit][] = [["this network", `mail:@${network}`, MAILS.network]];
    if (accountId !== undefined) limits.push(["this account", `mail:account:${accountId}`, MAILS.account]);
    limits.push(["this address", `mail:${digestText(mailboxOf(email))}`, MAILS.recipient]);
    for (const [of, subject, limit] of limits) {
      const endsAt = await exceeds(subject, limit);
      if (endsAt !== undefined) return { of, endsAt };
    }
    return undefined;
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
      try {
        const result = await check();
        await store.forgetAttempts(here);
        return result;
      } catch (error) {
        // No password was compared: too many checks wait in this process.
        const isUnchecked = error instanceof ServiceError && error.reason === "service_unavailable";
        if (isUnchecked) for (const [subject] of limits) await store.uncountAttempt(subject);
        throw error;
      }
    },
    countMail: async (mail) => {
      const excess = await exceedsMails(mail);
      if (excess === undefined) return;
      const { of, endsAt } = excess;
      const where = of === "this address" ? `to ${of}` : `from ${of}`;
      refuse(endsAt, `Too many mails were sent ${where}; try again later.`);
    },
    mayMail: async (mail) => (await exceedsMails(mail)) === undefined,
    countNotice: (email) => count(`notice:${digestText(mailboxOf(email))}`, NOTICES),
    countSignIn: (network) => count(`sign-in:@${network}`, SIGN_INS),
    countAccount: (personId) => count(`account:${personId}`, ACCOUNTS),
    mayMailAlert: async (accountId) => (await exceeds(`alert-mail:${accountId}`, ALERT_MAILS)) === undefined,
    countAlertTest: (accountId) => count(`alert-test:${accountId}`, ALERT_TESTS),
    countPayment: (accountId) => count(`payment:${accountId}`, PAYMENTS),
  };
}

/** Returns the mailbox of an address: in lower case and without a tag, since "a+1@x" and "a+2@x" are one person's. */
function mailboxOf(email: string): string {
  const text = email.trim().toLowerCase();
  const [tag, at] = [text.indexOf("+"), text.indexOf("@")];
  return tag < 0 || tag > at ? text : text.slice(0, tag) + text.slice(at);
}
