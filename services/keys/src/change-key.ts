// The one way in which a key that exists changes: under a lock of the key, billing's spender first, our row second, and
// under a revision that is raised before billing hears of it. So no update can ever bring a key back to life that is
// being, or was, deleted: neither one that runs at the same time nor one that reaches billing late.
import { ServiceError } from "@gr/proto";
import type { ApiKey, KeyKind } from "./key.ts";
import { isUuid, type KeyDeps } from "./key-deps.ts";
import { putSpenderOf } from "./spender.ts";

export interface OwnKey {
  readonly accountId: string;
  readonly keyId: string;
  /** Absent = either kind. */
  readonly kind?: KeyKind;
}

/**
 * Billing refuses a revision that is lower than the one it has. Each attempt therefore has a revision of its own, which is
 * committed before the call: were it stored with the rest of the row, a change whose call failed or whose process died
 * would give its revision back, the next change would take it again, and billing could not tell which of the two is newer.
 * Who holds the lock and is refused all the same has lost revisions: our tables were restored to an older state. Then the
 * change is made again above what billing has, because a key that is said to be deleted must not go on spending.
 *
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
  const stored = await store.change(known.id, {
    next: (key) => {
      // Of two deletions at once, one finds the key already deleted.
      if (key.deletedAt !== null) throw keyNotFound();
      return next(key);
    },
    announce: async (changed) => (changed.kind === "normal" ? putSpenderOf(billing, changed) : undefined),
  });
  revocations.tell(stored);
  return stored;
}

function keyNotFound(): ServiceError {
  return new ServiceError("key_not_found", "The API key was not found.", { param: "id" });
}
