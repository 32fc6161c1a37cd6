// Operation steps own the conversion of the operations of the RPC service into those of the ledger. Pure.
import type { Id } from "@gr/ledger";
import type { ChainOperation } from "../chain/chain-operation.ts";
import type { Claim, Operation } from "../writer/operation.ts";

/** @param accountId account of the hold */
export function chainOperationOf(operation: Operation, accountId: Id): ChainOperation {
  const { kind, holdId, credits, most, attempt, tag, billedBy } = operation;
  const onHold = { accountId, holdId };
  const cost = operation.cost ?? 0n;
  const deadlineAt = Number(operation.deadlineAt ?? 0);
  switch (kind) {
    case "place": {
      if (tag === null || operation.spenderId === null) throw new Error(`Place ${holdId} is incomplete.`);
      const claim = operation.claim === null ? undefined : claimOf(operation.claim);
      const size = { credits, most: most ?? undefined };
      const payer = { budgetId: operation.spenderId, memberId: operation.personId };
      return { kind, ...onHold, ...payer, ...size, deadlineAt, tag, claim };
    }
    case "capture":
      return { kind, ...onHold, charge: credits, cost };
    case "extend":
      return { kind, ...onHold, credits, most: most ?? undefined, deadlineAt };
    case "next": {
      if (tag === null || attempt === null) throw new Error(`Attempt of ${holdId} is incomplete.`);
      const { provider, upstreamModel } = tag;
      const next = { attempt, provider, upstreamModel, cost, deadlineAt };
      return { kind, ...onHold, ...next, billedBy: billedBy?.provider };
    }
    case "release":
    case "abandon":
      return { kind: "release", ...onHold, cost, provider: tag?.provider, unresolved: kind === "abandon" };
  }
}

export function claimOf({ key, fingerprint }: Claim): { key: string; fingerprint: string } {
  return { key: key.toString("hex"), fingerprint: fingerprint.toString("hex") };
}
