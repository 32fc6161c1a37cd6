// Operations of a history in the terms of the ledger: numbers become ids, and each key is a budget without a parent.
import type { BudgetDefinition, HoldOperation, Claim as LedgerClaim } from "@gr/ledger";
import { idOf } from "./ids.ts";
import type { Claim, Operation, SpenderFields } from "./operation.ts";

/** @param account owner of the hold */
export function ledgerOperation(operation: Operation, account: number): HoldOperation {
  const onHold = { accountId: idOf(account), holdId: idOf(operation.hold) };
  switch (operation.kind) {
    case "place": {
      const { spender, credits, most, service, provider, deadlineAt, claim } = operation;
      return {
        kind: "place",
        ...onHold,
        ...{ budgetId: idOf(spender), credits, most, deadlineAt },
        tag: { service, provider, upstreamModel: "model", model: "model", priceVersion: "v1" },
        claim: claim && ledgerClaim(claim),
      };
    }
    case "extend": {
      const { credits, most, deadlineAt } = operation;
      return { kind: "extend", ...onHold, credits, most, deadlineAt };
    }
    case "next": {
      const { attempt, provider, cost, billedBy, deadlineAt } = operation;
      return {
        kind: "next",
        ...onHold,
        attempt,
        provider,
        upstreamModel: "model",
        cost,
        billedBy,
        deadlineAt,
      };
    }
    case "capture":
      return { kind: "capture", ...onHold, charge: operation.credits, cost: operation.cost };
    default: {
      const { kind, cost, provider } = operation;
      return { kind: "release", ...onHold, cost, provider, unresolved: kind === "abandon" };
    }
  }
}

export function ledgerClaim({ key, content }: Claim): LedgerClaim {
  return { key: `${key}`, fingerprint: `${content}` };
}

export function definitionOf(index: number, fields: SpenderFields, revision: bigint): BudgetDefinition {
  const { cap = null, period, expiresAt = null, active } = fields;
  return {
    ...{ id: idOf(index), parentId: null, level: "key", name: `key ${index}` },
    ...{ limit: cap, period, expiresAt, active, createdAt: 0, revision },
  };
}
