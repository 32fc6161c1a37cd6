// Operation steps own the conversion between the operations and answers of the RPC service and those of the ledger. Pure.
import type { Id, Outcome, RefusingBudget } from "@gr/ledger";
import { OutcomeCode } from "@gr/proto/billing";
import type { ChainOperation } from "../chain/chain-operation.ts";
import type { Claim, Operation } from "../writer/operation.ts";
import type { Posted, Refusal } from "../writer/posted.ts";

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

const CODES = new Map<string, OutcomeCode>(
  Object.entries(OutcomeCode).flatMap(([name, code]) =>
    typeof code === "number" ? [[name.toLowerCase(), code] as const] : [],
  ),
);

/** @throws Error for an outcome that no operation of the service has */
export function postedOf({ code: name, refusal, earlierHoldId, held, loss }: Outcome): Posted {
  const code = CODES.get(name);
  if (code === undefined) throw new Error(`The service has no name for the outcome ${name}.`);
  return {
    code,
    ...(refusal === undefined ? {} : { refusal: refusalOf(refusal) }),
    ...(earlierHoldId === undefined ? {} : { earlierHoldId }),
    ...(held === undefined ? {} : { held }),
    ...(loss === undefined ? {} : { loss }),
  };
}

/** The amount of a budget above the key is not for the owner of the key. */
function limitOf(budget: RefusingBudget | undefined): Pick<Refusal, "cap" | "period" | "level"> {
  if (budget === undefined) return { cap: 0n, period: undefined, level: undefined };
  const { limit, period, level, isLowest } = budget;
  return { cap: (isLowest ? limit : null) ?? 0n, period, level: isLowest ? undefined : level };
}

function refusalOf({
  inFlight,
  available,
  budget,
  resetsAt,
  expiresAt,
  suspended,
}: NonNullable<Outcome["refusal"]>): Refusal {
  return {
    inFlight,
    available,
    ...limitOf(budget),
    resetsAt: BigInt(resetsAt),
    expiresAt: BigInt(expiresAt),
    suspended,
  };
}
