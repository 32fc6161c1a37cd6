// mintKey creates a key. Billing stores the spender before the key's own row is written. So billing can judge every
// existing key, and a failed mint creates no key.
import { randomUUID } from "node:crypto";
import { createKeySecret } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import type { ApiKey, KeySettings } from "../records/key.ts";
import { hintOf } from "../records/key-digest.ts";
import { requireAccount } from "./account.ts";
import { requireKnownNames } from "./allow-lists.ts";
import type { KeyDeps } from "./key-deps.ts";
import { putSpender } from "./spender.ts";

export type NewKey = KeySettings & Pick<ApiKey, "accountId" | "kind">;

/** @throws ServiceError account_not_found, too_many_keys, invalid_value, service_unavailable; errors of billing. */
export async function mintKey(deps: KeyDeps, wanted: NewKey): Promise<{ key: ApiKey; secret: string }> {
  const { store, billing, clock, digestOf, unknownDigests, events } = deps;
  await requireAccount(deps, wanted.accountId);
  requireKnownNames(deps.catalog, wanted);
  await refuseTooMany(deps, wanted.accountId);
  const secret = createKeySecret(wanted.kind);
  const key: ApiKey = {
    ...wanted,
    id: randomUUID(),
    hint: hintOf(secret),
    active: true,
    createdAt: clock.now(),
    deletedAt: null,
    former: null,
    revision: 1n,
  };
  if (key.kind === "normal") await putSpender(billing, key);
  try {
    await store.addKey(key, digestOf(secret));
  } catch (error) {
    await switchOffSpender(deps, key);
    throw error;
  }
  unknownDigests.clear();
  events.keyMinted(key);
  return { key, secret };
}

/** Refuses a key above the limit. Simultaneous mints may exceed it by their number. */
async function refuseTooMany({ store, mostKeys }: KeyDeps, accountId: string): Promise<void> {
  if ((await store.count(accountId, mostKeys)) < mostKeys) return;
  const message = `This account has ${mostKeys} API keys, which is as many as it may have; delete some first.`;
  throw new ServiceError("too_many_keys", message);
}

/**
 * Switches off the spender of a key that was not stored. Its secret was never returned, and lists of usage must not
 * show it as active.
 */
async function switchOffSpender({ billing, events }: KeyDeps, key: ApiKey): Promise<void> {
  if (key.kind !== "normal") return;
  try {
    await putSpender(billing, { ...key, active: false, revision: key.revision + 1n });
  } catch (error) {
    events.spenderLeftActive(key.id, error);
  }
}
