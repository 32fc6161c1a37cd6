// The audit log has one line for each change of an account by a person. The line is written after the change. If that
// fails, the caller gets an error, and the change remains. A rotation of a key logs the failure instead, because its answer has the secret.

import type { AnswerOf } from "@gr/console-api";
import type { ConsoleDeps } from "../console-deps.ts";
import { accountOf, type CallerFacts, signedInOf } from "../door/console-call.ts";
import type { Person } from "../people/people.ts";
import { bigintCursor, pageLimit } from "../requests/pages.ts";

export interface AuditEvent {
  /** "key.created" */
  readonly action: string;
  /** Id of the changed object. */
  readonly subject?: string;
  readonly detail?: Readonly<Record<string, string>>;
}

export function recordAudit(
  { store }: Pick<ConsoleDeps, "store">,
  call: CallerFacts & { readonly params: Readonly<Record<string, string>> },
  { action, subject, detail = {} }: AuditEvent,
  accountId = accountOf(call),
): Promise<void> {
  const actor = signedInOf(call).person.email;
  return store.audit({ accountId, actor, action, subject: subject ?? null, detail, address: call.network });
}

/**
 * Records a change of a person in each account of that person, because sign-in options of a member matter to all
 * members.
 */
export async function recordPersonalAudit(
  { store }: Pick<ConsoleDeps, "store">,
  { id, email }: Person,
  network: string,
  { action, subject = id, detail = {} }: AuditEvent,
): Promise<void> {
  const event = { actor: email, action, subject, detail, address: network };
  for (const { account_id } of await store.membershipsOf(id))
    await store.audit({ accountId: account_id, ...event });
}

/** @throws ServiceError invalid_value */
export async function readAuditPage(
  { store }: Pick<ConsoleDeps, "store">,
  accountId: string,
  query: { readonly limit?: string | undefined; readonly after?: string | undefined },
): Promise<AnswerOf<"readAudit">> {
  const limit = pageLimit(query);
  const found = await store.listAudit(accountId, limit + 1, bigintCursor(query.after));
  const data = found.slice(0, limit).map(({ id, at, ...entry }) => {
    return { id: String(id), at: at.toISOString(), ...entry, detail: { ...entry.detail } };
  });
  return { data, next: found.length > limit ? (data.at(-1)?.id ?? null) : null };
}
