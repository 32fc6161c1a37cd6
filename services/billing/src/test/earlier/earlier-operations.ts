// Earlier operations own the parts of an operation that the tests of the carry send to the ledger before the chain and to the chain.
import type { Id } from "@gr/ledger";
import type { Operation } from "../../writer/operation.ts";
import { claimOf } from "../wallet.ts";

/** Members of an operation that its kind does not use. */
export const NOTHING: Omit<Operation, "kind" | "holdId"> = {
  ...{ accountId: null, spenderId: null, credits: 0n, most: null, cost: null, deadlineAt: null },
  ...{ tag: null, attempt: null, billedBy: null, claim: null },
};

export const TAG = {
  ...{ service: "text-proxy", provider: "openrouter", upstreamModel: "upstream/chat" },
  ...{ model: "sandbox/chat", priceVersion: "v1" },
};

export interface PlaceFields {
  readonly accountId: Id;
  readonly spenderId: Id;
  readonly holdId: Id;
  /** Unix time in ms. */
  readonly deadlineAt: number;
  /** Content of the request, for its claim; absent: the same for all. */
  readonly content?: string;
}

/** Returns a place of 20 credits. The id of the hold is its Idempotency-Key. */
export function placeOf({ deadlineAt, content, ...fields }: PlaceFields): Operation {
  const claim = claimOf(fields.holdId, content);
  const own = { credits: 20n, deadlineAt: BigInt(deadlineAt), tag: TAG, claim };
  return { ...NOTHING, kind: "place", ...fields, ...own };
}
