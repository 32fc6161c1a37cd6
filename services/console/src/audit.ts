// The audit log: one line for each change that somebody made to an account. Written after the change, which nothing undoes
// when the line cannot be written: then the caller hears of a failure, and the change stands.

import { accountOf, type CallerFacts, signedInOf } from "./console-call.ts";
import type { ConsoleDeps } from "./console-deps.ts";

export interface Deed {
  /** "key.created" */
  readonly action: string;
  /** Id of what was changed. */
  readonly subject?: string;
  readonly detail?: Readonly<Record<string, string>>;
}

export function recordDeed(
  { store }: Pick<ConsoleDeps, "store">,
  call: CallerFacts & { readonly params: Readonly<Record<string, string>> },
  { action, subject, detail = {} }: Deed,
  accountId = accountOf(call),
): Promise<void> {
  const actor = signedInOf(call).person.email;
  return store.audit({ accountId, actor, action, subject: subject ?? null, detail, address: call.network });
}
