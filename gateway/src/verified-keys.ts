// Who an API key belongs to, as the keys service says. Recent answers are kept for requests that spend, because
// billing checks the key again; everything else asks anew, so that a deleted key stops working at once.
// Secrets are not kept: an entry is found by the SHA-256 of its key.
import { hash } from "node:crypto";
import { isWellFormedKey } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { KeyKind, type KeysService } from "@gr/proto/keys";
import type { Clock, Principal, ServiceClient } from "@gr/runtime";
import { LRUCache } from "lru-cache";

const MAX_ENTRIES = 20_000;
const FRESH_MS = 5_000;
const LOOK_UP_TIMEOUT_MS = 3_000;

interface Entry {
  readonly principal: Principal;
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined;
  readonly staleAt: number;
}

export class VerifiedKeys {
  readonly #keys: Pick<ServiceClient<typeof KeysService>, "verifyKey">;
  readonly #clock: Clock;
  readonly #recent = new LRUCache<string, Entry>({ max: MAX_ENTRIES });
  readonly #running = new Map<string, Promise<Principal>>();

  constructor(keys: Pick<ServiceClient<typeof KeysService>, "verifyKey">, clock: Clock) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /**
   * For requests that spend: at once when the key was verified in the last seconds; look-ups of one key that are
   * asked for at the same time are one.
   * @throws ServiceError invalid_api_key, api_key_expired, service_unavailable
   */
  ofSpender(secret: string, requestId: string): Principal | Promise<Principal> {
    const digest = digestOf(secret);
    const entry = this.#recent.get(digest);
    if (entry !== undefined && entry.staleAt > this.#clock.now()) return this.#unlessExpired(entry);
    const running = this.#running.get(digest);
    if (running !== undefined) return running;
    const lookUp = this.#lookUp(secret, digest, requestId).finally(() => this.#running.delete(digest));
    this.#running.set(digest, lookUp);
    return lookUp;
  }

  /** Asks the keys service, whatever is known. @throws as ofSpender */
  asOfNow(secret: string, requestId: string): Promise<Principal> {
    return this.#lookUp(secret, digestOf(secret), requestId);
  }

  async #lookUp(secret: string, digest: string, requestId: string): Promise<Principal> {
    if (!isWellFormedKey(secret)) throw invalidKey();
    try {
      const { key } = await this.#keys.verifyKey({ secret }, { requestId, timeoutMs: LOOK_UP_TIMEOUT_MS });
      if (key === undefined || !key.active) throw invalidKey();
      const kind = kindOf(key.kind);
      const entry: Entry = {
        principal: Object.freeze({ accountId: key.accountId, keyId: key.keyId, kind }),
        expiresAt: key.expiresAt === undefined ? undefined : Number(key.expiresAt),
        staleAt: this.#clock.now() + FRESH_MS,
      };
      this.#recent.set(digest, entry);
      return this.#unlessExpired(entry);
    } catch (error) {
      this.#recent.delete(digest);
      throw refusalOf(error);
    }
  }

  #unlessExpired({ principal, expiresAt }: Entry): Principal {
    if (expiresAt === undefined || expiresAt > this.#clock.now()) return principal;
    const when = new Date(expiresAt).toISOString();
    throw new ServiceError("api_key_expired", `This API key expired at ${when}.`);
  }
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
    default:
      throw new Error(`the keys service answered with key kind ${kind}`);
  }
}

/** Always the same text: it must not tell a mistyped key from a deleted or disabled one. */
function invalidKey(): ServiceError {
  return new ServiceError("invalid_api_key", "The API key is not valid.");
}

/** Only the expiry of a key is told apart; whatever else is wrong with the look-up is our failure. */
function refusalOf(error: unknown): ServiceError {
  if (error instanceof ServiceError && error.reason === "api_key_expired") return error;
  if (error instanceof ServiceError && error.reason === "invalid_api_key") return invalidKey();
  const message = "API keys cannot be checked at the moment; try again shortly.";
  return new ServiceError("service_unavailable", message, { retryAfterMs: 1_000, cause: error });
}
