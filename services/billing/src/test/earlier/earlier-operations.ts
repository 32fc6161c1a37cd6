// Earlier operations own the parts of an operation that the tests of the carry send to the ledger before the chain and to the chain.
import type { BudgetDefinition, HoldTag, Id, Period } from "@gr/ledger";
import type { PostedOperation } from "../../holds/hold.ts";
import { claimOf } from "../wallet.ts";

/** Operation as the version before the chain posted it: members that its kind does not use are null. */
export interface Operation {
  readonly kind: "place" | "capture" | "release" | "abandon" | "extend" | "next";
  readonly holdId: Id;
  readonly accountId: Id | null;
  readonly spenderId: Id | null;
  readonly credits: bigint;
  readonly most: bigint | null;
  readonly cost: bigint | null;
  /** Unix milliseconds. */
  readonly deadlineAt: bigint | null;
  readonly tag: HoldTag | null;
  readonly attempt: number | null;
  readonly billedBy: HoldTag | null;
  readonly claim: { readonly key: Buffer; readonly fingerprint: Buffer } | null;
}

/** The same operation for the chain. */
export function postedOf(operation: Operation): PostedOperation {
  const { kind, holdId, credits, attempt, tag, billedBy, claim } = operation;
  const onHold = { accountId: operation.accountId ?? "", holdId };
  const size = { credits, most: operation.most ?? undefined };
  const cost = operation.cost ?? 0n;
  const deadlineAt = Number(operation.deadlineAt ?? 0);
  switch (kind) {
    case "place": {
      if (tag === null || operation.spenderId === null) throw new Error(`Place ${holdId} is incomplete.`);
      const key = claim?.key.toString("hex");
      const fingerprint = claim?.fingerprint.toString("hex");
      const claimed = key === undefined || fingerprint === undefined ? undefined : { key, fingerprint };
      return { kind, ...onHold, budgetId: operation.spenderId, ...size, deadlineAt, tag, claim: claimed };
    }
    case "capture":
      return { kind, ...onHold, charge: credits, cost };
    case "extend":
      return { kind, ...onHold, ...size, deadlineAt };
    case "next": {
      if (tag === null || attempt === null) throw new Error(`Attempt of ${holdId} is incomplete.`);
      const { provider, upstreamModel } = tag;
      const next = { attempt, provider, upstreamModel, cost, deadlineAt };
      return { kind, ...onHold, ...next, billedBy: billedBy?.provider };
    }
    default:
      return { kind: "release", ...onHold, cost, provider: tag?.provider, unresolved: kind === "abandon" };
  }
}

/** Row of the table `spender`. */
export interface Spender {
  readonly id: Id;
  readonly accountId: Id;
  readonly name: string;
  readonly cap: bigint | null;
  readonly period: Period;
  readonly expiresAt: Date | null;
  readonly active: boolean;
  readonly createdAt: Date;
  readonly revision: bigint;
}

/** The same key for the chain. */
export function definitionOf(spender: Spender): BudgetDefinition {
  const { id, name, cap: limit, period, expiresAt, active, createdAt, revision } = spender;
  return {
    ...{ id, parentId: null, level: "key", name, limit, period, active, revision },
    expiresAt: expiresAt?.getTime() ?? null,
    createdAt: createdAt.getTime(),
  };
}

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
