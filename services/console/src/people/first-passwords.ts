// First passwords are set behind a mailed link, which proves the person's address. Until then only the digest of the
// link's token is stored of a sign-up, so a stranger's sign-up with a foreign address gains nothing.
import type { AuthContext } from "better-auth";
import type { Links } from "../mail/links.ts";
import type { Mailer } from "../mail/mailer.ts";
import { createToken } from "./invitation-token.ts";

const HOUR_MS = 3_600_000;
const SIGN_UP_MS = 24 * HOUR_MS;
const PROVIDER = "credential";
/** Source of a person for better-auth's hooks; there are no hooks. */
const CREATED_BY = { method: "email-password" } as const;

export interface FirstPassword {
  readonly email: string;
  /** Name of a new person; an existing person keeps theirs. */
  readonly name: string;
  readonly password: string;
}

export interface FirstPasswords {
  /** Mails a link to an existing person or, if `isWelcome`, to a stranger. Does the same work for every address. */
  sendLink(email: string, isWelcome: boolean): Promise<void>;
  /** Returns the address that the token of a sign-up proves, once. @returns undefined if the token is unknown or expired */
  claimAddress(token: string): Promise<string | undefined>;
  /** Sets the password of a person, and creates a missing person. No earlier password or session remains. */
  set(first: FirstPassword): Promise<void>;
}

/** Parts of better-auth that passwords need. */
interface PasswordContext extends Pick<AuthContext, "internalAdapter"> {
  readonly password: Pick<AuthContext["password"], "hash">;
}

export function createFirstPasswords(
  context: Promise<PasswordContext>,
  { mailer, links }: { readonly mailer: Pick<Mailer, "sends" | "send">; readonly links: Links },
): FirstPasswords {
  return {
    sendLink: async (email, isWelcome) => {
      const { internalAdapter } = await context;
      const known = (await internalAdapter.findUserByEmail(email))?.user;
      const token = createToken();
      const isProved = known?.emailVerified === true;
      // Also for strangers without a mail, so that the answer needs the same time.
      await internalAdapter.createVerificationValue({
        identifier: isProved ? `reset-password:${token}` : `sign-up:${token}`,
        value: isProved ? known.id : email,
        expiresAt: new Date(Date.now() + (isProved ? HOUR_MS : SIGN_UP_MS)),
      });
      if (isProved) {
        mailer.send({
          to: email,
          subject: "Set a new password",
          text: "Somebody, probably you, asked for a new password or signed up again. The link works once, within an hour.",
          link: links.resetPassword(token),
        });
      } else if (isWelcome || known !== undefined) {
        mailer.send({
          to: email,
          subject: "Verify your e-mail address",
          text: "Follow this link within a day to set a password and use the console. If you did not sign up, do nothing.",
          link: links.verifyEmail(token),
        });
      }
    },
    claimAddress: async (token) =>
      (await (await context).internalAdapter.consumeVerificationValue(`sign-up:${token}`))?.value,
    set: async ({ email, name, password }) => {
      const { internalAdapter, password: hasher } = await context;
      const hash = await hasher.hash(password);
      const known = (await internalAdapter.findUserByEmail(email))?.user;
      const person =
        known ?? (await internalAdapter.createUser({ email, name, emailVerified: true }, CREATED_BY));
      // Before the proof of the address any person may have set them.
      if (!person.emailVerified) await internalAdapter.deleteAccounts(person.id);
      if ((await internalAdapter.findCredentialAccount(person.id)) === null) {
        const account = { userId: person.id, providerId: PROVIDER, accountId: person.id, password: hash };
        await internalAdapter.createAccount(account);
      } else await internalAdapter.updatePassword(person.id, hash);
      await internalAdapter.deleteUserSessions(person.id);
      if (!person.emailVerified) await internalAdapter.updateUser(person.id, { emailVerified: true, name });
    },
  };
}
