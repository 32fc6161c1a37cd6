// verifyKey finds the key or web token of a bearer, and checks its validity. Invented secrets cost no query: the
// checksum stops most of them, a short memory of unknown ones the rest. Web tokens cost no query at all.
import { expiredKey, invalidKey, isWellFormedKey, type ResponseFormat } from "@gr/identity";
import { isUuid } from "@gr/runtime";
import { type ApiKey, refusalOf, whyUnusable } from "../records/key.ts";
import type { FoundKey } from "../records/store.ts";
import type { KeyDeps } from "./key-deps.ts";
import type { WebToken } from "./web-token.ts";

export interface VerifiedKey {
  readonly key: ApiKey;
  /** Default of the key, else of its account; null = url. */
  readonly responseFormat: ResponseFormat | null;
}

/** @throws ServiceError invalid_api_key, api_key_expired, service_unavailable */
export async function verifyKey(deps: KeyDeps, secret: string): Promise<VerifiedKey> {
  const { digestOf, unknownDigests, events } = deps;
  if (!isWellFormedKey(secret)) {
    events.keyRefused("malformed");
    throw invalidKey();
  }
  const digest = digestOf(secret);
  if (!unknownDigests.has(digest)) {
    const found = await findKey(deps, secret, digest);
    if (found !== undefined) {
      const key = requireUsable(deps, found.isFormer ? endedWithSecret(found.key) : found.key);
      return { key, responseFormat: key.responseFormat ?? found.accountFormat };
    }
    unknownDigests.add(digest);
  }
  events.keyRefused("unknown");
  throw invalidKey();
}

/** Returns the key for its former secret: it expires with the secret, if not before. */
function endedWithSecret(key: ApiKey): ApiKey {
  const endsAt = key.former?.endsAt ?? 0;
  return { ...key, expiresAt: Math.min(endsAt, key.expiresAt ?? endsAt) };
}

/**
 * Finds a key. A key under the other pepper's digest is moved to the current one, so that the other pepper can be
 * removed.
 */
async function findKey(
  { store, otherDigestOf, events }: KeyDeps,
  secret: string,
  digest: Buffer,
): Promise<FoundKey | undefined> {
  const other = otherDigestOf?.(secret);
  const found = await store.findByDigest(digest, other);
  if (other !== undefined && found?.digest.equals(other)) {
    await store.moveDigest(other, digest);
    events.keyMoved();
  }
  return found;
}

/** @throws ServiceError invalid_api_key, api_key_expired */
export async function verifyWebToken(deps: KeyDeps, text: string): Promise<WebToken> {
  const token = await deps.webTokens?.read(text, deps.clock.now());
  if (token === undefined) {
    deps.events.keyRefused("token");
    throw invalidKey();
  }
  return requireUnexpired(deps, token);
}

/** A web token is good until it expires. @throws ServiceError api_key_expired */
export function requireUnexpired<Token extends Pick<WebToken, "expiresAt">>(
  { clock, events }: KeyDeps,
  token: Token,
): Token {
  if (token.expiresAt > clock.now()) return token;
  events.keyRefused("expired");
  throw expiredKey("web token", token.expiresAt);
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
