// Deletes a normal key. Billing stops its spending before our row says "deleted", so a crash in between leaves a key
// that cannot spend and can be deleted again.
import { ServiceError } from "@gr/proto";
import { isUuid, type KeyDeps } from "./key-deps.ts";
import { spenderOf } from "./spender.ts";

/**
 * @returns the id as it is stored.
 * @throws ServiceError key_not_found, the same for unknown, foreign, management and deleted keys.
 */
export async function deleteKey(deps: KeyDeps, accountId: string, keyId: string): Promise<string> {
  const { store, billing, clock, events } = deps;
  const key = isUuid(keyId) ? await store.findById(keyId) : undefined;
  if (key === undefined || key.accountId !== accountId || key.kind !== "normal" || key.deletedAt !== null) {
    throw keyNotFound();
  }
  await billing.putSpender({ spender: spenderOf(key, false) });
  // Of two deletions at once, one finds the key already deleted.
  if (!(await store.markDeleted(key.id, clock.now()))) throw keyNotFound();
  events.keyDeleted(key);
  return key.id;
}

function keyNotFound(): ServiceError {
  return new ServiceError("key_not_found", "The API key was not found.", { param: "id" });
}
