// The one way in which a key that exists changes: under a lock of its row, billing's spender first, our row second.
// So an update can never bring a key back to life that is being deleted.
import { ServiceError } from "@gr/proto";
import type { ApiKey, KeyKind } from "./key.ts";
import { isUuid, type KeyDeps } from "./key-deps.ts";
import { spenderOf } from "./spender.ts";

export interface OwnKey {
  readonly accountId: string;
  readonly keyId: string;
  /** Absent = either kind. */
  readonly kind?: KeyKind;
}

/**
 * A crash after billing's write leaves a key that billing judges by its new form and our row shows in its old one.
 * The same change again makes them agree; any other change writes the spender anew from our row.
 * @param next the key as it shall be.
 * @throws ServiceError key_not_found, the same for unknown, foreign and deleted keys and those of another kind;
 *   whatever `next` and billing throw, and then our row is as it was.
 */
export async function changeKey(
  { store, billing, revocations }: KeyDeps,
  { accountId, keyId, kind }: OwnKey,
  next: (key: ApiKey) => ApiKey,
): Promise<ApiKey> {
  const known = isUuid(keyId) ? await store.findById(keyId) : undefined;
  if (known?.accountId !== accountId || (kind !== undefined && known.kind !== kind)) throw keyNotFound();
  const stored = await store.change(known.id, async (key) => {
    // Of two deletions at once, one finds the key already deleted.
    if (key.deletedAt !== null) throw keyNotFound();
    const changed = next(key);
    if (changed.kind === "normal") await billing.putSpender({ spender: spenderOf(changed) });
    return changed;
  });
  revocations.tell(stored);
  return stored;
}

function keyNotFound(): ServiceError {
  return new ServiceError("key_not_found", "The API key was not found.", { param: "id" });
}
