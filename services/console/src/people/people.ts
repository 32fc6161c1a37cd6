// People and their sessions, by better-auth on our own tables. Its HTTP routes are not served: each of ours calls one of its
// operations, so that errors, limits and the check for cross-site requests are those of the console.
import { createHash, randomUUID } from "node:crypto";
import { ServiceError } from "@gr/proto";
import type { Logger, Pool } from "@gr/runtime";
import { betterAuth } from "better-auth";
import { magicLink } from "better-auth/plugins";
import type { ConsoleConfig } from "../config.ts";
import type { Links } from "../mail/links.ts";
import type { Mailer } from "../mail/mailer.ts";
import { createFirstPasswords, type FirstPassword } from "./first-passwords.ts";
import { createPasswordHashing } from "./password-hashing.ts";

const HOUR_S = 3_600;
const SESSION_S = 7 * 24 * HOUR_S;
/** Age after which a session in use is prolonged. */
const PROLONG_AFTER_S = 24 * HOUR_S;
export const SIGN_IN_LINK_S = HOUR_S;

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface SessionRecord {
  readonly id: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly address: string | null;
  readonly userAgent: string | null;
}

export interface SignedIn {
  readonly person: Person;
  readonly sessionId: string;
  /** When the person signed in. */
  readonly since: Date;
}

/** Result of an operation, and the cookies that its answer sets. */
export interface WithCookies<T> {
  readonly value: T;
  readonly cookies: readonly string[];
}

/** `headers` are those of the request: cookie, x-client-network, user-agent. */
export interface People {
  readSession(headers: Headers): Promise<WithCookies<SignedIn | undefined>>;
  /**
   * Mails a link to the page that sets a password, to an existing person or, if `isWelcome`, to a stranger. Does the
   * same work for every address.
   */
  sendPasswordLink(email: string, isWelcome: boolean): Promise<void>;
  /** Sets the first password of the address that the token proves, and signs in. @throws ServiceError invalid_link */
  verifyEmail(
    headers: Headers,
    token: string,
    first: { name: string; password: string },
  ): Promise<WithCookies<void>>;
  /** Sets the first password of an address that is proved in another way. No earlier password or session remains. */
  join(headers: Headers, first: FirstPassword): Promise<WithCookies<void>>;
  /** @throws ServiceError invalid_credentials, email_not_verified */
  signIn(headers: Headers, credentials: { email: string; password: string }): Promise<WithCookies<void>>;
  /** @throws ServiceError invalid_link */
  signInByLink(headers: Headers, token: string): Promise<WithCookies<void>>;
  /**
   * Signs in a person with another proof of their address. Unproved passwords and sessions of that address are deleted.
   */
  signInAs(headers: Headers, email: string): Promise<WithCookies<void>>;
  signOut(headers: Headers): Promise<WithCookies<void>>;
  /** All sessions of the person end. @throws ServiceError invalid_link */
  resetPassword(token: string, password: string): Promise<void>;
  /** All other sessions end. @throws ServiceError invalid_credentials */
  changePassword(headers: Headers, current: string, next: string): Promise<WithCookies<void>>;
  hasPassword(personId: string): Promise<boolean>;
  /** Sets the password of a signed-in person without one. All other sessions end. @throws ServiceError invalid_credentials */
  setPassword(headers: Headers, password: string): Promise<void>;
  listSessions(headers: Headers): Promise<SessionRecord[]>;
  /** Does nothing when the person has no such session. */
  endSession(headers: Headers, sessionId: string): Promise<void>;
  endOtherSessions(headers: Headers): Promise<void>;
  /** Finds a person, or creates one with a verified address and no password. */
  findOrMake(email: string, name: string): Promise<Person>;
  find(email: string): Promise<Person | undefined>;
  /** True if a person of this address has proved that it is theirs. */
  isVerified(email: string): Promise<boolean>;
  /** Returns a token that signs the person of this address in, once. */
  createSignInToken(email: string): Promise<string>;
}

export interface PeopleOptions {
  readonly config: ConsoleConfig;
  readonly pool: Pool;
  readonly mailer: Pick<Mailer, "sends" | "send">;
  readonly links: Links;
  readonly log: Logger;
}

const STAMPS = { createdAt: "created_at", updatedAt: "updated_at" } as const;

/** Source of a person for better-auth's hooks; there are no hooks. */
const OPERATOR = { method: "email-password" } as const;

/** Tokens of sign-in links that were created and not fetched yet, by caller. */
type IssuedTokens = Map<string, string>;

function createAuth(
  { config, pool, log }: Pick<PeopleOptions, "config" | "pool" | "log">,
  issued: IssuedTokens,
) {
  const secure = config.CONSOLE_URL.startsWith("https:");
  return betterAuth({
    appName: "Generation Router",
    baseURL: config.CONSOLE_URL,
    basePath: "/console/api",
    secret: config.CONSOLE_SECRET,
    database: pool,
    telemetry: { enabled: false },
    // Ours are in attempts.ts: they are shared by all processes, and count people as well as networks.
    rateLimit: { enabled: false },
    logger: { level: "error", log: (_level, message) => log.error({ by: "better-auth" }, message) },
    advanced: {
      database: { generateId: () => randomUUID() },
      ipAddress: { ipAddressHeaders: ["x-client-network"] },
      useSecureCookies: false,
      defaultCookieAttributes: { httpOnly: true, sameSite: "strict", path: "/", secure },
      cookies: { session_token: { name: secure ? "__Host-gr_session" : "gr_session" } },
    },
    user: { modelName: "person", fields: { emailVerified: "email_verified", ...STAMPS } },
    session: {
      modelName: "session",
      fields: {
        userId: "person_id",
        expiresAt: "expires_at",
        ipAddress: "address",
        userAgent: "user_agent",
        ...STAMPS,
      },
      expiresIn: SESSION_S,
      updateAge: PROLONG_AFTER_S,
    },
    account: {
      modelName: "credential",
      fields: {
        userId: "person_id",
        accountId: "provider_account_id",
        providerId: "provider",
        accessToken: "access_token",
        refreshToken: "refresh_token",
        idToken: "id_token",
        accessTokenExpiresAt: "access_token_expires_at",
        refreshTokenExpiresAt: "refresh_token_expires_at",
        ...STAMPS,
      },
    },
    verification: {
      modelName: "verification",
      fields: { expiresAt: "expires_at", ...STAMPS },
      // A reader of the table, or of a backup, gets no link that works.
      storeIdentifier: "hashed",
    },
    emailAndPassword: {
      enabled: true,
      requireEmailVerification: true,
      minPasswordLength: 10,
      maxPasswordLength: 128,
      password: createPasswordHashing(),
      revokeSessionsOnPasswordReset: true,
    },
    plugins: [
      magicLink({
        disableSignUp: true,
        expiresIn: SIGN_IN_LINK_S,
        storeToken: { type: "custom-hasher", hash: async (token) => digestText(token) },
        sendMagicLink: async ({ token, metadata }) => void issued.set(metadata?.["asker"], token),
      }),
    ],
  });
}

export function createPeople(options: PeopleOptions): People {
  const issued: IssuedTokens = new Map();
  const auth = createAuth(options, issued);
  const passwords = createFirstPasswords(auth.$context, options);
  const { api } = auth;
  const createSignInToken = async (email: string): Promise<string> => {
    const asker = randomUUID();
    await api.signInMagicLink({ headers: new Headers(), body: { email, metadata: { asker } } });
    const token = issued.get(asker);
    issued.delete(asker);
    if (token === undefined) throw new Error("a sign-in link was created without a token");
    return token;
  };
  const signInByLink = (headers: Headers, token: string) =>
    withCookies(
      asking("invalid_link", api.magicLinkVerify({ headers, query: { token }, returnHeaders: true })),
    );
  const signInAs = async (headers: Headers, email: string) =>
    signInByLink(headers, await createSignInToken(email));
  const join = async (headers: Headers, first: FirstPassword) => {
    await passwords.set(first);
    return signInAs(headers, first.email);
  };
  const sessionsOf = (headers: Headers) => asking("not_signed_in", api.listSessions({ headers }));
  return {
    readSession: async (headers) => {
      const { headers: set, response } = await api.getSession({ headers, returnHeaders: true });
      const cookies = set?.getSetCookie() ?? [];
      if (response === null) return { value: undefined, cookies };
      const { user, session } = response;
      return { value: { person: personOf(user), sessionId: session.id, since: session.createdAt }, cookies };
    },
    sendPasswordLink: passwords.sendLink,
    verifyEmail: async (headers, token, first) => {
      const email = await passwords.claimAddress(token);
      if (email === undefined) throw new ServiceError("invalid_link", SENTENCES.invalid_link);
      return join(headers, { email, ...first });
    },
    join,
    signIn: (headers, body) =>
      withCookies(asking("invalid_credentials", api.signInEmail({ headers, body, returnHeaders: true }))),
    signInByLink,
    signInAs,
    signOut: (headers) => withCookies(asking("not_signed_in", api.signOut({ headers, returnHeaders: true }))),
    resetPassword: async (token, newPassword) => {
      await asking("invalid_link", api.resetPassword({ body: { token, newPassword } }));
    },
    changePassword: (headers, currentPassword, newPassword) => {
      const body = { currentPassword, newPassword, revokeOtherSessions: true };
      return withCookies(
        asking("invalid_credentials", api.changePassword({ headers, body, returnHeaders: true })),
      );
    },
    hasPassword: async (personId) =>
      (await (await auth.$context).internalAdapter.findCredentialAccount(personId))?.password != null,
    setPassword: async (headers, newPassword) => {
      await asking("invalid_credentials", api.setPassword({ headers, body: { newPassword } }));
      await asking("not_signed_in", api.revokeOtherSessions({ headers }));
    },
    listSessions: async (headers) => {
      const found = await sessionsOf(headers);
      return found.map(({ id, createdAt, updatedAt, expiresAt, ipAddress, userAgent }) => ({
        id,
        createdAt,
        lastUsedAt: updatedAt,
        expiresAt,
        address: ipAddress || null,
        userAgent: userAgent || null,
      }));
    },
    endSession: async (headers, sessionId) => {
      const session = (await sessionsOf(headers)).find(({ id }) => id === sessionId);
      if (session === undefined) return;
      await asking("not_signed_in", api.revokeSession({ headers, body: { token: session.token } }));
    },
    endOtherSessions: async (headers) => {
      await asking("not_signed_in", api.revokeOtherSessions({ headers }));
    },
    findOrMake: async (email, name) => {
      const { internalAdapter } = await auth.$context;
      const known = await internalAdapter.findUserByEmail(email);
      if (known !== null) return personOf(known.user);
      return personOf(await internalAdapter.createUser({ email, name, emailVerified: true }, OPERATOR));
    },
    find: async (email) => {
      const known = await (await auth.$context).internalAdapter.findUserByEmail(email);
      return known === null ? undefined : personOf(known.user);
    },
    isVerified: async (email) =>
      (await (await auth.$context).internalAdapter.findUserByEmail(email))?.user.emailVerified === true,
    createSignInToken,
  };
}

export function digestText(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

function personOf({ id, email, name }: Person): Person {
  return { id, email, name };
}

async function withCookies(
  answer: Promise<{ headers: Headers | null | undefined }>,
): Promise<WithCookies<void>> {
  return { value: undefined, cookies: (await answer).headers?.getSetCookie() ?? [] };
}

const SENTENCES = {
  invalid_link: "This link is not valid any more; ask for a new one.",
  invalid_credentials: "The e-mail address or the password is wrong.",
  not_signed_in: "Sign in first.",
  email_not_verified: "This address was never verified: sign up with it again.",
} as const;

/** Converts a refusal of better-auth into the one possible error; a failure of ours stays a failure. */
async function asking<T>(refusal: keyof typeof SENTENCES, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const reason = error.body?.code === "EMAIL_NOT_VERIFIED" ? "email_not_verified" : refusal;
    throw new ServiceError(reason, SENTENCES[reason], { cause: error });
  }
}

interface Refusal {
  readonly statusCode: number;
  readonly body?: { readonly code?: string };
}

/**
 * Recognizes a refusal by its shape: better-auth throws errors of its own class, and redirects of another that it does
 * not export.
 */
function isRefusal(error: unknown): error is Refusal {
  const { name, statusCode } = error as { name?: string; statusCode?: unknown };
  return name === "APIError" && typeof statusCode === "number" && statusCode < 500;
}
