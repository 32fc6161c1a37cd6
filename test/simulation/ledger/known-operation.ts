// Known operations own the conversion of the ledger's operations to the terms of a history. Ids are numbers there. Each key is a
// budget without a parent.
import type { ChainOperation } from "@gr/billing/simulated";
import type { BudgetDefinition, Claim as LedgerClaim } from "@gr/ledger";
import { numberOf } from "./ids.ts";
import type { Claim, Operation, Service } from "./operation.ts";

export function knownOperation(operation: ChainOperation): Operation {
  switch (operation.kind) {
    case "place": {
      const { holdId, accountId, budgetId, credits, most, tag, deadlineAt, claim } = operation;
      const { provider, service } = tag;
      return {
        kind: "place",
        ...{ hold: numberOf(holdId), account: numberOf(accountId), spender: numberOf(budgetId) },
        ...{ credits, most, provider, deadlineAt, service: service as Service },
        claim: claim && claimOf(claim),
      };
    }
    case "capture":
      return {
        kind: "capture",
        hold: numberOf(operation.holdId),
        credits: operation.charge,
        cost: operation.cost,
      };
    case "release": {
      const { holdId, unresolved, cost, provider } = operation;
      return { kind: unresolved ? "abandon" : "release", hold: numberOf(holdId), cost, provider };
    }
    case "extend": {
      const { holdId, credits, most, deadlineAt } = operation;
      return { kind: "extend", hold: numberOf(holdId), credits, most, deadlineAt };
    }
    case "next": {
      const { holdId, attempt, provider, cost, billedBy, deadlineAt } = operation;
      return { kind: "next", hold: numberOf(holdId), attempt, provider, cost, billedBy, deadlineAt };
    }
    case "lease":
      return { kind: "lease", hold: numberOf(operation.holdId), until: operation.until };
    case "keep":
      return { kind: "keep", hold: numberOf(operation.holdId) };
    case "budget":
      return keyOf(operation.definition, operation.accountId);
    case "deposit":
    case "refund":
    case "adjustment": {
      const { kind, id, accountId, credits } = operation;
      return { kind, id: numberOf(id), account: numberOf(accountId), credits };
    }
    default:
      throw new Error(`No history has the operation ${operation.kind}.`);
  }
}

function keyOf(definition: BudgetDefinition, accountId: string): Operation {
  const { id, limit, period, expiresAt, active, revision } = definition;
  const fields = { cap: limit ?? undefined, period, expiresAt: expiresAt ?? undefined, active };
  return { kind: "budget", spender: numberOf(id), account: numberOf(accountId), fields, revision };
}

const HEX_DIGITS_OF_A_NUMBER = 8;

function claimOf({ key, fingerprint }: LedgerClaim): Claim {
  const read = (digest: string) => Number.parseInt(digest.slice(0, HEX_DIGITS_OF_A_NUMBER), 16);
  return { key: read(key), content: read(fingerprint) };
}
