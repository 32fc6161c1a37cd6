// VerifiedKeys caches the keys service's answers about API keys and web tokens, for requests that spend, because
// billing checks the key again. All other requests query anew, so that a deleted key stops working at once.
// Secrets are not stored: an entry is found by the SHA-256 of its key.
import { hash } from "node:crypto";
import {
  type AllowLists,
  expiredKey,
  invalidKey,
  isWellFormedKey,
  looksLikeWebToken,
  type Principal,
  RESPONSE_FORMATS,
} from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { type Key, KeyKind, type KeysService } from "@gr/proto/keys";
import type { Clock, ServiceClient } from "@gr/runtime";
import { LRUCache } from "lru-cache";

const MAX_ENTRIES = 20_000;
const FRESH_MS = 5_000;
const LOOK_UP_TIMEOUT_MS = 3_000;
/** Characters of allow-lists that count as one more key. */
const LONG_LISTS = 500;

interface Entry {
  readonly principal: Principal;
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined;
  /** Unix milliseconds; never after the expiry. */
  readonly staleAt: number;
}

export class VerifiedKeys {
  readonly #keys: Pick<ServiceClient<typeof KeysService>, "verifyKey">;
  readonly #clock: Clock;
  readonly #recent: LRUCache<string, Entry>;
  readonly #running = new Map<string, Promise<Principal>>();

  /** @param most keys that are remembered; a key with long allow-lists counts as several */
  constructor(
    keys: Pick<ServiceClient<typeof KeysService>, "verifyKey">,
    clock: Clock,
    most: number = MAX_ENTRIES,
  ) {
    this.#keys = keys;
    this.#clock = clock;
    this.#recent = new LRUCache({ max: most, maxSize: most, sizeCalculation: sizeOf });
  }

  /**
   * Returns the principal for requests that spend: at once if the key was verified in the last seconds. Simultaneous
   * look-ups of one key are one.
   * @throws ServiceError invalid_api_key, api_key_expired, service_unavailable
   */
  ofSpender(secret: string, requestId: string): Principal | Promise<Principal> {
    const digest = digestOf(secret);
    const entry = this.#recent.get(digest);
    if (entry !== undefined && entry.staleAt > this.#clock.now()) return entry.principal;
    const running = this.#running.get(digest);
    if (running !== undefined) return this.#joined(running, secret, requestId);
    const lookUp = this.#lookUp(secret, digest, requestId).finally(() => this.#running.delete(digest));
    this.#running.set(digest, lookUp);
    return lookUp;
  }

  /** Returns true if only a query of the keys service can identify the secret, and it was never verified. */
  isStranger(secret: string): boolean {
    return isKeyOrToken(secret) && !this.#recent.has(digestOf(secret));
  }

  /** Queries the keys service without the cache. @throws as ofSpender */
  asOfNow(secret: string, requestId: string): Promise<Principal> {
    return this.#lookUp(secret, digestOf(secret), requestId);
  }

  /** A refusal may be older than the request that joined it: the key may have been enabled in between. */
  async #joined(running: Promise<Principal>, secret: string, requestId: string): Promise<Principal> {
    try {
      return await running;
    } catch (refusal) {
      if (refusal instanceof ServiceError && refusal.reason === "service_unavailable") throw refusal;
      return this.asOfNow(secret, requestId);
    }
  }

  async #lookUp(secret: string, digest: string, requestId: string): Promise<Principal> {
    if (!isKeyOrToken(secret)) throw invalidKey();
    try {
      const timeoutMs = LOOK_UP_TIMEOUT_MS;
      const { key, responseFormat } = await this.#keys.verifyKey({ secret }, { requestId, timeoutMs });
      if (key === undefined || !key.active) throw invalidKey();
      const entry = entryOf(key, responseFormat, this.#clock.now());
      this.#recent.set(digest, entry);
      return this.#unlessExpired(entry);
    } catch (error) {
      this.#recent.delete(digest);
      throw refusalOf(error);
    }
  }

  /** Checks the expiry in a fresh answer only: an owner may have postponed the expiry since an older one. */
  #unlessExpired({ principal, expiresAt }: Entry): Principal {
    if (expiresAt === undefined || expiresAt > this.#clock.now()) return principal;
    const what = principal.kind === "web_token" ? "web token" : "API key";
    throw expiredKey(what, expiresAt);
  }
}

function entryOf(key: Key, format: string, now: number): Entry {
  const { accountId, keyId, personId } = key;
  const kind = kindOf(key.kind);
  const expiresAt = key.expiresAt === undefined ? undefined : Number(key.expiresAt);
  const responseFormat = RESPONSE_FORMATS.find((known) => known === format);
  const principal = { accountId, keyId, kind };
  const allowed = allowedOf(key);
  // A later check of a token has no table with its expiry.
  const whole = {
    ...principal,
    ...(kind === "web_token" && expiresAt !== undefined && { expiresAt }),
    ...(personId !== undefined && { personId }),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(key.savesTexts && { savesTexts: true as const }),
    ...(allowed !== undefined && { allowed }),
  };
  return {
    principal: Object.freeze(whole),
    expiresAt,
    staleAt: Math.min(now + FRESH_MS, expiresAt ?? Number.POSITIVE_INFINITY),
  };
}

/** Returns the lists of a key; undefined if it allows all models and providers. */
function allowedOf({ allowedModels, allowedProviders }: Key): AllowLists | undefined {
  if (allowedModels === undefined && allowedProviders === undefined) return undefined;
  return Object.freeze({
    ...(allowedModels !== undefined && { models: allowedModels.names }),
    ...(allowedProviders !== undefined && { providers: allowedProviders.names }),
  });
}

function sizeOf({ principal: { allowed } }: Entry): number {
  const names = [...(allowed?.models ?? []), ...(allowed?.providers ?? [])];
  return 1 + Math.floor(names.join().length / LONG_LISTS);
}

function isKeyOrToken(secret: string): boolean {
  return isWellFormedKey(secret) || looksLikeWebToken(secret);
}

function digestOf(secret: string): string {
  return hash("sha256", secret, "base64");
}

function kindOf(kind: KeyKind): Principal["kind"] {
  switch (kind) {
    case KeyKind.NORMAL:
      return "normal";
    case KeyKind.MANAGEMENT:
      return "management";
    case KeyKind.WEB_TOKEN:
      return "web_token";
    default:
      throw new Error(`the keys service answered with key kind ${kind}`);
  }
}

/**
 * Returns the client's error. Only the expiry of a key is distinguished; every other fault of the look-up is our
 * failure.
 */
function refusalOf(error: unknown): ServiceError {
  if (error instanceof ServiceError && error.reason === "api_key_expired") return error;
  if (error instanceof ServiceError && error.reason === "invalid_api_key") return invalidKey();
  const message = "API keys cannot be checked at the moment; try again shortly.";
  return new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause: error });
}
