// An API key of the domain, and the one rule that decides whether it may be used.
import type { SpendPeriodName } from "@gr/clients";
import { expiredKey, invalidKey, type ResponseFormat } from "@gr/identity";
import type { Credits } from "@gr/money";
import type { ServiceError } from "@gr/proto";

export type KeyKind = "normal" | "management";

export interface FormerSecret {
  readonly hint: string;
  /** Unix milliseconds from which the secret does not work. */
  readonly endsAt: number;
}

/** The secret is never part of a key: only the answer to its minting contains it. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly kind: KeyKind;
  /** Prefix and last four characters of the secret, for display. */
  readonly hint: string;
  readonly active: boolean;
  /** Null = no spend limit. */
  readonly spendLimit: Credits | null;
  /** Null = the spend limit is for the key's lifetime. */
  readonly period: SpendPeriodName | null;
  /** Unix milliseconds; null = never. */
  readonly expiresAt: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Unix milliseconds; null = not deleted. */
  readonly deletedAt: number | null;
  /** The response_format of requests without one; null = the account's. */
  readonly responseFormat: ResponseFormat | null;
  /** Ids of models, or their beginnings with * at the end; null = all models. */
  readonly allowedModels: readonly string[] | null;
  /** Names of providers; null = all providers. */
  readonly allowedProviders: readonly string[] | null;
  /** Budget above the key, in billing; null = none. Once set it never changes. */
  readonly budgetId: string | null;
  /** True: prompts and answers of text requests with this key are saved. */
  readonly savesTexts: boolean;
  /** The secret before the last rotation; null = none. */
  readonly former: FormerSecret | null;
  /** Counts the changes that were begun, its minting included, also those that failed half-way. */
  readonly revision: bigint;
}

/** Fields of a key that its owner chooses, and may change later. */
export type KeySettings = Pick<
  ApiKey,
  | "name"
  | "spendLimit"
  | "period"
  | "expiresAt"
  | "responseFormat"
  | "allowedModels"
  | "allowedProviders"
  | "budgetId"
  | "savesTexts"
>;

type AllowLists = Pick<ApiKey, "allowedModels" | "allowedProviders">;

/** Reason why a key cannot be used; undefined if it can. */
export type Unusable = "deleted" | "disabled" | "expired";

export function whyUnusable(key: ApiKey, now: number): Unusable | undefined {
  if (key.deletedAt !== null) return "deleted";
  if (!key.active) return "disabled";
  if (key.expiresAt !== null && key.expiresAt <= now) return "expired";
  return undefined;
}

/** Returns true if a key may use all models at all providers. */
export function isUnlimited({ allowedModels, allowedProviders }: AllowLists): boolean {
  return allowedModels === null && allowedProviders === null;
}

/** Fields of a key that gateways hold with its verification, and that a change must reach at once. */
type HeldFields = AllowLists & Pick<ApiKey, "savesTexts">;

export function hasSameHeldFields(one: HeldFields, other: HeldFields): boolean {
  const textOf = ({ allowedModels, allowedProviders, savesTexts }: HeldFields) =>
    JSON.stringify([allowedModels, allowedProviders, savesTexts]);
  return textOf(one) === textOf(other);
}

/** Returns the caller's error. Only an expired key gets more than "invalid": its owner needs the time. */
export function refusalOf(key: ApiKey, why: Unusable): ServiceError {
  if (why === "expired" && key.expiresAt !== null) {
    return expiredKey("API key", key.expiresAt);
  }
  return invalidKey();
}

/** ISO 8601, UTC, with milliseconds. */
export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
