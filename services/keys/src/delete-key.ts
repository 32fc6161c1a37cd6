// Deletes a key. Billing stops its spending before our row says "deleted", so a crash in between leaves a key that
// cannot spend and can be deleted again.
import { changeKey, type OwnKey } from "./change-key.ts";
import type { KeyDeps } from "./key-deps.ts";

/**
 * @returns the id as it is stored.
 * @throws ServiceError key_not_found
 */
export async function deleteKey(deps: KeyDeps, which: OwnKey): Promise<string> {
  const key = await changeKey(deps, which, (current) => ({ ...current, deletedAt: deps.clock.now() }));
  deps.events.keyDeleted(key);
  return key.id;
}
