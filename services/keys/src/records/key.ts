// An API key as the domain knows it, and the one rule that says whether it may be used.
import type { Credits } from "@gr/money";
import { ServiceError } from "@gr/proto";

export type KeyKind = "normal" | "management";
export type Period = "day" | "week" | "month";

/** Never holds the secret: that exists in the answer to its minting and nowhere else. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly kind: KeyKind;
  /** Prefix and last four characters of the secret, for display. */
  readonly hint: string;
  readonly active: boolean;
  /** Null = no cap. */
  readonly capCredits: Credits | null;
  /** Null = the cap is for the key's lifetime. */
  readonly period: Period | null;
  /** Unix milliseconds; null = never. */
  readonly expiresAt: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Unix milliseconds; null = not deleted. */
  readonly deletedAt: number | null;
  /** Counts the changes that were begun, its minting included, also those that failed half-way. */
  readonly revision: bigint;
}

/** Why a key cannot be used; undefined when it can. */
export type Unusable = "deleted" | "disabled" | "expired";

export function whyUnusable(key: ApiKey, now: number): Unusable | undefined {
  if (key.deletedAt !== null) return "deleted";
  if (!key.active) return "disabled";
  if (key.expiresAt !== null && key.expiresAt <= now) return "expired";
  return undefined;
}

/** What the caller is told. Only an expired key says more than "invalid": its owner needs to know when. */
export function refusalOf(key: ApiKey, why: Unusable): ServiceError {
  if (why === "expired" && key.expiresAt !== null) {
    return new ServiceError("api_key_expired", `This API key expired at ${isoTime(key.expiresAt)}.`);
  }
  return invalidKey();
}

export function invalidKey(): ServiceError {
  return new ServiceError("invalid_api_key", "This API key is not valid.");
}

/** ISO 8601, UTC, with milliseconds. */
export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
