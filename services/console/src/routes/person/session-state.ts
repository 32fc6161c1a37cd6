// Session state is the first answer for a session; it is the same after every kind of sign-in.
import type { SessionState } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import type { ConsoleDeps } from "../../console-deps.ts";
import { type CallerFacts, setCookies } from "../../door/console-call.ts";
import type { WayIn } from "../../events.ts";
import type { Person, SignedIn, WithCookies } from "../../people/people.ts";

/** A session this young proves the person well enough to add another way to sign in. */
const FRESH_MS = 3_600_000;

/** @param what is done then, such as "a passkey is added" @throws ServiceError session_too_old */
export function requireFreshSession({ since }: SignedIn, now: number, what: string): void {
  if (now - since.getTime() <= FRESH_MS) return;
  const message = `Sign out and in again first: ${what} within an hour after that.`;
  throw new ServiceError("session_too_old", message);
}

export async function beginSession(
  deps: ConsoleDeps,
  { headers, reply }: Pick<CallerFacts, "headers"> & { readonly reply: Parameters<typeof setCookies>[0] },
  by: WayIn,
  signingIn: Promise<WithCookies<void>>,
): Promise<SessionState> {
  const { cookies } = await signingIn;
  setCookies(reply, cookies);
  const next = new Headers(headers);
  next.set("cookie", cookies.map((cookie) => cookie.split(";", 1)[0]).join("; "));
  const { value } = await deps.people.readSession(next);
  if (value !== undefined) deps.events.signedIn(value.person.id, by);
  return stateOf(deps, value?.person);
}

export async function stateOf(
  { people, store, operators, config, mailer, stripe, issuer, passkeys }: ConsoleDeps,
  person: Person | undefined,
): Promise<SessionState> {
  return {
    person: person ?? null,
    accounts: person === undefined ? [] : await store.membershipsOf(person.id),
    invitations: person === undefined ? [] : await store.invitationsTo(person.email),
    sign_up: config.CONSOLE_SIGN_UP,
    sends_mail: mailer.sends,
    takes_payments: stripe !== undefined,
    has_password: person !== undefined && (await people.hasPassword(person.id)),
    is_operator: person !== undefined && (await operators.isOperator(person.id)),
    takes_passkeys: passkeys !== undefined,
    single_sign_on: issuer?.name ?? null,
  };
}
