// Key changes are updates and deletions: under a lock of the key, billing's spender changes first and our row second.
// Their revision is raised before the call to billing. So no update revives a deleted key, whether it runs at the same
// time or reaches billing late. The row is unsettled in between, so settleKeys finds and completes an interrupted change.
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import { type ApiKey, isUnlimited, type KeyKind, type KeySettings } from "../records/key.ts";
import { requireKnownNames } from "./allow-lists.ts";
import type { KeyDeps } from "./key-deps.ts";
import { keyAtBilling, putSpenderOf } from "./spender.ts";

/** A key, and the account that it must belong to. */
export interface OwnKey {
  readonly accountId: string;
  readonly keyId: string;
  /** Absent = either kind. */
  readonly kind?: KeyKind;
}

/** Absent = unchanged; null = none. */
export type KeyChange = Partial<KeySettings & Pick<ApiKey, "active">>;

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
 * Changes the named fields only. Billing obeys the change before this returns; a new period begins a new window at
 * zero.
 * @throws ServiceError key_not_found, invalid_value, service_unavailable; errors of billing, after which our row is
 * unchanged.
 */
export async function updateKey(deps: KeyDeps, which: OwnKey, change: KeyChange): Promise<ApiKey> {
  requireKnownNames(deps.catalog, change);
  const key = await changeKey(deps, which, (current) => changed(current, change));
  deps.events.keyUpdated(key, Object.keys(change));
  return key;
}

/**
 * Deletes a key: billing stops its spending before our row is marked. After a crash in between, the key cannot spend
 * and can be deleted again.
 * @returns the id as it is stored.
 * @throws ServiceError key_not_found; errors of billing, after which our row is unchanged.
 */
export async function deleteKey(deps: KeyDeps, which: OwnKey): Promise<string> {
  const key = await changeKey(deps, which, (current) => ({ ...current, deletedAt: deps.clock.now() }));
  deps.events.keyDeleted(key);
  return key.id;
}

/**
 * Changes a key under a new revision. Billing refuses a revision below its own, so each attempt commits its revision
 * before it calls billing. If the revision were stored with the rest of the row, a failed call or a crash would roll it
 * back. The next change would use it again, and billing could not decide which of the two is newer.
 *
 * Billing may refuse a change that has the lock. Then our tables were restored to an older state and have lost
 * revisions. The change is repeated above billing's revision, because a deleted key must not spend.
 *
 * After a crash between the two writes, billing has the new fields and our row the old ones, but is unsettled. A later
 * change begins with the fields of billing: they are in force, and a parent is there for good.
 * @param next returns the wanted state of the key.
 * @throws ServiceError key_not_found, the same for unknown, foreign and deleted keys and those of another kind; errors
 * of `next` and of billing.
 */
async function changeKey(
  { store, billing, revocations, clock }: KeyDeps,
  which: OwnKey,
  next: (key: ApiKey) => ApiKey,
): Promise<ApiKey> {
  const known = await findKey({ store }, which);
  let before = known;
  const stored = await store.change(known.id, {
    next: async (key, isSettled) => {
      before = key;
      // The second of two simultaneous deletions finds the key already deleted.
      if (key.deletedAt !== null) throw keyNotFound();
      return next(isSettled ? key : await keyAtBilling(billing, key));
    },
    announce: (changed) => putSpenderOf(billing, changed),
    now: clock.now(),
  });
  revocations.tell(before, stored);
  return stored;
}

/** Age of an interrupted change. A mint waits for billing no longer, and clocks of two processes differ less. */
const INTERRUPTED_AFTER_MS = 60_000;
const MOST_SETTLED = 100;

/**
 * Completes changes that a crash or a failure interrupted: our row gets the fields that billing has, under a new revision.
 * The spender of an interrupted mint is switched off, because its secret was never returned.
 */
export async function settleKeys(deps: KeyDeps, stopping: AbortSignal): Promise<void> {
  const { store, clock, events } = deps;
  const ids = await store.listUnsettled(clock.now() - INTERRUPTED_AFTER_MS, MOST_SETTLED);
  for (const id of ids) {
    if (stopping.aborted) return;
    await settleKey(deps, id).catch((error: unknown) => events.keyUnsettled(id, error));
  }
}

async function settleKey({ store, billing, revocations, clock, events }: KeyDeps, id: string): Promise<void> {
  let before: ApiKey | undefined;
  const stored = await store.change(id, {
    next: async (key, isSettled) => {
      if (isSettled) return undefined;
      before = key;
      return key.deletedAt === null ? keyAtBilling(billing, key) : key;
    },
    announce: (changed) => putSpenderOf(billing, changed),
    now: clock.now(),
  });
  if (before === undefined) return;
  revocations.tell(before, stored);
  events.keySettled(stored);
}

/** Checks the rules between fields, which depend on the current key. Each single field was checked before. */
function changed(key: ApiKey, change: KeyChange): ApiKey {
  // A period needs a spend limit, so both are removed together.
  const withoutLimit = change.spendLimit === null ? { period: null } : {};
  const next = { ...key, ...withoutLimit, ...change };
  if (next.kind === "management" && next.spendLimit !== null) {
    throw invalid("cap_credits", "A management key does not spend, so it has no spend limit; leave it out");
  }
  if (next.kind === "management" && next.responseFormat !== null) {
    throw invalid("default_response_format", "A management key generates nothing and takes no default");
  }
  if (next.kind === "management" && !isUnlimited(next)) {
    const field = next.allowedModels === null ? "allowed_providers" : "allowed_models";
    throw invalid(field, "A management key generates nothing and has no allow-lists");
  }
  if (next.kind === "management" && next.budgetId !== null) {
    throw invalid("budget_id", "A management key does not spend, so it has no budget above it");
  }
  if (key.budgetId !== null && next.budgetId !== key.budgetId) {
    throw invalid("budget_id", "The budget above a key never changes; mint another key");
  }
  if (next.kind === "management" && next.savesTexts) {
    throw invalid("saves_texts", "A management key generates nothing and saves no texts");
  }
  if (next.period !== null && next.spendLimit === null) {
    throw invalid("period", `The period ${next.period} needs a spend limit to apply to`);
  }
  return next;
}

function invalid(param: string, what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "${param}").`, { param });
}

export function keyNotFound(): ServiceError {
  return new ServiceError("key_not_found", "The API key was not found.", { param: "id" });
}
