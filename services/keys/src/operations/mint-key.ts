// mintKey creates a key. Its row is deleted and unsettled until billing has stored the spender. So billing can judge every
// existing key, and settleKeys finds the spender of an interrupted mint.
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
  await store.addKey(key, digestOf(secret));
  if (key.kind === "normal") {
    await putSpender(billing, key).catch((error: unknown) => dropRefused(deps, key, error));
    if (!(await store.endMint(key)))
      throw new Error(`The mint of key ${key.id} was interrupted for too long.`);
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

/** Without an answer the row stays unsettled, because billing may have stored the spender. */
async function dropRefused({ store }: KeyDeps, key: ApiKey, error: unknown): Promise<never> {
  if (error instanceof ServiceError && error.reason === "invalid_value") await store.dropMint(key);
  throw error;
}
