// Says whether a spender could pay for anything, for requests that would be costly to take in before a place decides.
// Nothing is locked or changed.
import { OutcomeCode } from "@gr/proto/billing";
import type { ClaimingSpender } from "../claims/claim-store.ts";
import type { MirroredWriter } from "../mirror/mirrored-writer.ts";
import type { Payer } from "../mirror/spend-mirror.ts";
import type { ReadExpiry } from "../mirror/spend-numbers-store.ts";
import { NO_REFUSAL, type Posted } from "../writer/post-store.ts";

export interface SpenderCheckDeps {
  readonly writer: Pick<MirroredWriter, "refusalOfLeast">;
  readonly readExpiry: ReadExpiry;
  readonly judgeClaim: (claiming: ClaimingSpender) => Promise<Posted>;
}

/** @param claimKey of the claim that the place would have, if any */
export type CheckSpender = (payer: Payer, claimKey: Buffer | undefined) => Promise<Posted>;

const DONE: Posted = { code: OutcomeCode.DONE };

export function createSpenderCheck({ writer, readExpiry, judgeClaim }: SpenderCheckDeps): CheckSpender {
  return async (payer, claimKey) => {
    const refusal = await writer.refusalOfLeast(payer);
    if (refusal === undefined) return DONE;
    if (refusal === "no spender") return refusalOfSpender(await readExpiry(payer));
    if (claimKey === undefined) return refusal;
    // Which request has the key does not matter here: the place will compare.
    const { code } = await judgeClaim({ ...payer, claim: { key: claimKey, fingerprint: Buffer.alloc(0) } });
    return code === OutcomeCode.DONE ? refusal : DONE;
  };
}

function refusalOfSpender(expiresAt: bigint | "suspended" | undefined): Posted {
  if (expiresAt === undefined || expiresAt === "suspended") {
    const suspended = expiresAt === "suspended";
    return { code: OutcomeCode.SPENDER_INACTIVE, refusal: { ...NO_REFUSAL, suspended } };
  }
  return { code: OutcomeCode.SPENDER_EXPIRED, refusal: { ...NO_REFUSAL, expiresAt } };
}
