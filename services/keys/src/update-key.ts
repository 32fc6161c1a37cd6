// Changes what an operator may change of a key: name, switch, cap, period, expiry. What is not named stays.
import { ServiceError } from "@gr/proto";
import { changeKey, type OwnKey } from "./change-key.ts";
import type { ApiKey } from "./key.ts";
import type { KeyDeps } from "./key-deps.ts";

/** Absent = as it is; null = none. */
export type KeyChange = Partial<Pick<ApiKey, "name" | "active" | "capCredits" | "period" | "expiresAt">>;

/**
 * Billing obeys the change before this returns; a new period begins a new window at zero.
 * @throws ServiceError key_not_found, invalid_value
 */
export async function updateKey(deps: KeyDeps, which: OwnKey, change: KeyChange): Promise<ApiKey> {
  const key = await changeKey(deps, which, (current) => changed(current, change));
  deps.events.keyUpdated(key, Object.keys(change));
  return key;
}

/** The rules that need to know what the key is; those of single fields were kept before. */
function changed(key: ApiKey, change: KeyChange): ApiKey {
  // A period says when a cap starts anew, so it goes with the cap.
  const withoutCap = change.capCredits === null ? { period: null } : {};
  const next = { ...key, ...withoutCap, ...change };
  if (next.kind === "management" && next.capCredits !== null) {
    throw invalid("cap_credits", "A management key spends nothing and takes no cap");
  }
  if (next.period !== null && next.capCredits === null) {
    throw invalid("period", `The period ${next.period} needs a spend limit to apply to`);
  }
  return next;
}

function invalid(param: string, what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "${param}").`, { param });
}
