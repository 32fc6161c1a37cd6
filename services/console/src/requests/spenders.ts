// Spenders of an account are its keys under their own ids, and its web tokens, all together, under the id of the
// account.
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";

/** Replaces a key's id, as in GET /v1/credits. */
export const WEB_TOKEN = "web_token";

export function spenderIdOf(spenderId: string, accountId: string): string {
  return spenderId === accountId ? WEB_TOKEN : spenderId;
}

/** @throws ServiceError invalid_value */
export function spenderOf(keyId: string, accountId: string): string {
  if (keyId === WEB_TOKEN) return accountId;
  if (isUuid(keyId)) return keyId;
  const message = `It must be the id of a key, or ${WEB_TOKEN} (field "key_id").`;
  throw new ServiceError("invalid_value", message, { param: "key_id" });
}

/** @throws ServiceError invalid_value */
export function spenderFilter(keyId: string | undefined, accountId: string): { spenderId?: string } {
  return keyId === undefined ? {} : { spenderId: spenderOf(keyId, accountId) };
}
