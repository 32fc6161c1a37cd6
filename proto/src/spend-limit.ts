// Spend limits of keys have two names in the contract of KeysService until the next release: `cap_credits` and
// `spend_limit_credits`. A sender writes both, and a reader prefers the new one, so both versions may run together.
import type { Key, MintKeyRequest, UpdateKeyRequest } from "./gen/router/keys/v1/keys_pb.ts";

/** Returns the spend limit in credits; undefined = no limit. */
export function spendLimitOf(
  message: Pick<Key | MintKeyRequest, "spendLimitCredits" | "capCredits">,
): bigint | undefined {
  return message.spendLimitCredits ?? message.capCredits;
}

/** Fields of a key or of the request for one. @param credits undefined or null = no limit */
export function spendLimitFields(credits: bigint | null | undefined) {
  return credits == null ? {} : { spendLimitCredits: credits, capCredits: credits };
}

/** Returns the wanted spend limit in credits. True removes it, undefined keeps it, and false is invalid. */
export function spendLimitChangeOf({
  spendLimit,
  cap,
}: Pick<UpdateKeyRequest, "spendLimit" | "cap">): bigint | boolean | undefined {
  const change = spendLimit.case === undefined ? cap : spendLimit;
  return change.value;
}

/** Fields of a change. @param credits null = remove the limit, undefined = keep it */
export function spendLimitChange(credits: bigint | null | undefined) {
  if (credits === undefined) return {};
  if (credits === null) {
    return {
      spendLimit: { case: "noSpendLimit", value: true },
      cap: { case: "noCap", value: true },
    } as const;
  }
  return {
    spendLimit: { case: "spendLimitCredits", value: credits },
    cap: { case: "capCredits", value: credits },
  } as const;
}
