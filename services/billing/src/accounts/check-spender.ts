// Says whether a spender could pay for a hold, by default the smallest, for requests that would be costly to take in before a place decides.
// Nothing is locked or changed.
import type { Credits } from "@gr/money";
import { OutcomeCode } from "@gr/proto/billing";
import type { ClaimingSpender } from "../claims/claim-store.ts";
import type { MirroredWriter } from "../mirror/mirrored-writer.ts";
import type { Payer } from "../mirror/spend-mirror.ts";
import type { ReadExpiry } from "../mirror/spend-numbers-store.ts";
import { NO_REFUSAL, type Posted } from "../writer/post-store.ts";

export interface SpenderCheckDeps {
  readonly writer: Pick<MirroredWriter, "moneyRefusalOf">;
  readonly readExpiry: ReadExpiry;
  readonly judgeClaim: (claiming: ClaimingSpender) => Promise<Posted>;
}

/** @param claimKey of the claim that the place would have, if any. @param credits size of the hold; 0 = the smallest */
export type CheckSpender = (payer: Payer, claimKey: Buffer | undefined, credits: Credits) => Promise<Posted>;

const LEAST = 1n;
const DONE: Posted = { code: OutcomeCode.DONE };

export function createSpenderCheck({ writer, readExpiry, judgeClaim }: SpenderCheckDeps): CheckSpender {
  return async (payer, claimKey, credits) => {
    const refusal = await writer.moneyRefusalOf(payer, credits === 0n ? LEAST : credits);
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
