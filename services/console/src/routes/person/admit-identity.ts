// admitIdentity finds the person for an identity of the issuer. A linked identity counts by issuer and subject.
// Before the link, its e-mail address counts, if the issuer has verified it and the person has no other identity there:
// the address may have a new owner.
import { randomUUID } from "node:crypto";
import { email as emailField } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import type { ConsoleDeps } from "../../console-deps.ts";
import type { Person } from "../../people/people.ts";
import type { IssuerClaims } from "../../sign-in/issuer.ts";

export interface Admitted {
  readonly person: Person;
  /** Link of the identity by this call, and kind of the person. */
  readonly linked: "no" | "to a new person" | "to a known person";
}

type AdmitDeps = Pick<ConsoleDeps, "signIns" | "people" | "store" | "config">;

/**
 * @param name of the issuer, for people
 * @throws ServiceError email_not_verified, sign_up_closed, sign_in_refused
 */
export async function admitIdentity(deps: AdmitDeps, name: string, claims: IssuerClaims): Promise<Admitted> {
  const { signIns, people } = deps;
  const known = await signIns.personOf(claims);
  if (known !== undefined) return { person: known, linked: "no" };
  const email = addressOf(claims, name);
  const before = await people.find(email);
  if (before === undefined) await requireWelcome(deps, email);
  const person = before ?? (await people.findOrMake(email, claims.name?.trim().slice(0, 200) || email));
  if (!(await signIns.addIdentity(randomUUID(), person.id, claims))) {
    // The other one of two simultaneous sign-ins has linked it.
    if ((await signIns.personOf(claims))?.id === person.id) return { person, linked: "no" };
    const message = `${email} signs in here as somebody else of ${name}. Sign in in another way, and remove that on your page.`;
    throw new ServiceError("sign_in_refused", message);
  }
  return { person, linked: before === undefined ? "to a new person" : "to a known person" };
}

function addressOf({ email, isEmailVerified }: IssuerClaims, name: string): string {
  const { success, data } = emailField.safeParse(email);
  if (success && isEmailVerified) return data;
  throw new ServiceError(
    "email_not_verified",
    `${name} did not confirm that your e-mail address is verified.`,
  );
}

async function requireWelcome({ config, store }: AdmitDeps, email: string): Promise<void> {
  if (config.CONSOLE_SIGN_UP === "open" || (await store.isInvited(email))) return;
  throw new ServiceError("sign_up_closed", `Nobody has the address ${email} here; ask to be invited.`);
}
