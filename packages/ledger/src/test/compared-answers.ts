// Compared answers own the form in which the ledger and the second opinion are compared. The second opinion has no Idempotency-Keys.
import type { Operation } from "../operation.ts";
import type { Outcome } from "../outcome.ts";
import type { Answer } from "./naive-ledger.ts";

export function withoutClaim(operation: Operation): Operation {
  return operation.kind === "place" ? { ...operation, claim: undefined } : operation;
}

export function answerOf({ code, refusal, held }: Outcome): Answer {
  return { code, budget: refusal?.budget?.id, inFlight: refusal?.inFlight, held };
}
