// Updates and deletions of a key. Both go the same way: under a lock of the key, billing's spender first and our row second,
// under a revision that is raised before billing is told. So no update revives a key that is being deleted or was deleted,
// neither one that runs at the same time nor one that reaches billing late.
import { ServiceError } from "@gr/proto";
import type { ApiKey, KeyKind } from "../records/key.ts";
import { isUuid, type KeyDeps } from "./key-deps.ts";
import { putSpenderOf } from "./spender.ts";

/** A key, and the account that it must belong to. */
export interface OwnKey {
  readonly accountId: string;
  readonly keyId: string;
  /** Absent = either kind. */
  readonly kind?: KeyKind;
}

/** Absent = as it is; null = none. */
export type KeyChange = Partial<Pick<ApiKey, "name" | "active" | "capCredits" | "period" | "expiresAt">>;

/** @throws ServiceError key_not_found, the same for unknown, foreign and deleted keys and those of another kind. */
export async function findKey(
  { store }: Pick<KeyDeps, "store">,
  { accountId, keyId, kind }: OwnKey,
): Promise<ApiKey> {
  const known = isUuid(keyId) ? await store.findById(keyId) : undefined;
  const isOwn = known?.accountId === accountId && known.deletedAt === null;
  if (!isOwn || (kind !== undefined && known.kind !== kind)) throw keyNotFound();
  return known;
}

/**
 * Changes what is named and leaves the rest. Billing obeys the change before this returns; a new period begins a new
 * window at zero.
 * @throws ServiceError key_not_found, invalid_value; whatever billing throws, and then our row is as it was.
 */
export async function updateKey(deps: KeyDeps, which: OwnKey, change: KeyChange): Promise<ApiKey> {
  const key = await changeKey(deps, which, (current) => changed(current, change));
  deps.events.keyUpdated(key, Object.keys(change));
  return key;
}

/**
 * Billing stops the key's spending before our row says "deleted". A crash in between leaves a key that cannot spend and can
 * be deleted again.
 * @returns the id as it is stored.
 * @throws ServiceError key_not_found; whatever billing throws, and then our row is as it was.
 */
export async function deleteKey(deps: KeyDeps, which: OwnKey): Promise<string> {
  const key = await changeKey(deps, which, (current) => ({ ...current, deletedAt: deps.clock.now() }));
  deps.events.keyDeleted(key);
  return key.id;
}

/**
 * Billing refuses a revision that is lower than the one it has. So each attempt at a change takes a revision of its own, and
 * commits it before it calls billing. If the revision were stored together with the rest of the row, a failed call or a crash
 * would give it back; the next change would use it again, and billing could not tell which of the two is newer.
 *
 * Billing may refuse a change that has the lock. Then our tables were restored to an older state and have lost revisions. The
 * change is made again above the revision that billing has, because a deleted key must not go on spending.
 *
 * A crash after billing's write leaves two forms of the key: billing has the new one and our row the old one. The same change
 * again makes them agree. Any other change writes the spender anew from our row.
 * @param next the key as it shall be.
 * @throws ServiceError key_not_found, the same for unknown, foreign and deleted keys and those of another kind;
 *   whatever `next` and billing throw.
 */
async function changeKey(
  { store, billing, revocations }: KeyDeps,
  which: OwnKey,
  next: (key: ApiKey) => ApiKey,
): Promise<ApiKey> {
  const known = await findKey({ store }, which);
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

/** The rules between fields, which depend on what the key is now. Each single field was checked before. */
function changed(key: ApiKey, change: KeyChange): ApiKey {
  // A period says when a cap starts anew, so it goes with the cap.
  const withoutCap = change.capCredits === null ? { period: null } : {};
  const next = { ...key, ...withoutCap, ...change };
  if (next.kind === "management" && next.capCredits !== null) {
    throw invalid("cap_credits", "A management key spends nothing and takes no cap");
  }
  if (next.period !== null && next.capCredits === null) {
    throw invalid("period", `The period ${next.period} needs a spend limit to apply to`);
  }
  return next;
}

function invalid(param: string, what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "${param}").`, { param });
}

function keyNotFound(): ServiceError {
  return new ServiceError("key_not_found", "The API key was not found.", { param: "id" });
}
