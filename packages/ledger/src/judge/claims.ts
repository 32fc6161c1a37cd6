// Claims own the rule of Idempotency-Keys: within 24 hours one request of a key is charged. A released hold was free, so
// its key is free again, unless the client may have seen its kept answer.
import type { Hold } from "../account.ts";
import type { Id } from "../id.ts";
import type { Claim } from "../operation.ts";
import { DAY_MS } from "../window.ts";

/** A claim lasts this long if its hold is resolved. */
export const CLAIM_LIFETIME_MS = DAY_MS;

/** Latest owner of an Idempotency-Key. */
export interface ClaimRecord {
  readonly fingerprint: string;
  readonly holdId: Id;
  /** Unix milliseconds. */
  readonly claimedAt: number;
}

export type ClaimCode = "claim_in_progress" | "claim_mismatch" | "claim_finished";

/** @returns undefined if the key is free */
export function claimOutcome(
  record: ClaimRecord,
  holder: Hold,
  claim: Claim,
  now: number,
): ClaimCode | undefined {
  if (!isClaimed(record, holder, now)) return undefined;
  if (record.fingerprint !== claim.fingerprint) return "claim_mismatch";
  return holder.state === "open" ? "claim_in_progress" : "claim_finished";
}

function isClaimed({ claimedAt }: ClaimRecord, { state, kept }: Hold, now: number): boolean {
  if (state === "open") return true;
  return (state === "captured" || kept !== undefined) && claimedAt > now - CLAIM_LIFETIME_MS;
}
