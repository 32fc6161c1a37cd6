// Whose key a secret is, and whether it may be used now. Invented secrets cost no query: the checksum stops most,
// a short memory of unknown ones the rest.
import { isWellFormedKey } from "@gr/clients";
import { type ApiKey, invalidKey, refusalOf, whyUnusable } from "./key.ts";
import { isUuid, type KeyDeps } from "./key-deps.ts";

/** @throws ServiceError invalid_api_key, api_key_expired, service_unavailable */
export async function verifyKey(deps: KeyDeps, secret: string): Promise<ApiKey> {
  const { store, digestOf, unknownDigests, events } = deps;
  if (!isWellFormedKey(secret)) {
    events.keyRefused("malformed");
    throw invalidKey();
  }
  const digest = digestOf(secret);
  if (!unknownDigests.has(digest)) {
    const key = await store.findByDigest(digest);
    if (key !== undefined) return requireUsable(deps, key);
    unknownDigests.add(digest);
  }
  events.keyRefused("unknown");
  throw invalidKey();
}

/**
 * The key behind a request that was authenticated a moment ago, as it is now.
 * @throws ServiceError as verifyKey
 */
export async function currentKey(deps: KeyDeps, accountId: string, keyId: string): Promise<ApiKey> {
  const key = isUuid(keyId) ? await deps.store.findById(keyId) : undefined;
  if (key === undefined || key.accountId !== accountId) {
    deps.events.keyRefused("unknown");
    throw invalidKey();
  }
  return requireUsable(deps, key);
}

function requireUsable({ clock, events }: KeyDeps, key: ApiKey): ApiKey {
  const why = whyUnusable(key, clock.now());
  if (why === undefined) return key;
  events.keyRefused(why, key);
  throw refusalOf(key, why);
}
