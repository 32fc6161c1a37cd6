// What a failure of PostgreSQL means to a caller of billing.
import { ServiceError } from "@gr/proto";
import { isConnectionError } from "@gr/runtime";

/** Errors after which the same transaction may succeed: serialization failure, deadlock. */
const WORTH_ANOTHER_TRY = new Set(["40001", "40P01"]);
/** Classes of errors that the server gives for reasons of its own: limits, locks, shutdown, rollback. */
const SERVER_TROUBLE = /^(40|53|54|55|57|58)/;

export function isWorthAnotherTry(error: unknown): boolean {
  return WORTH_ANOTHER_TRY.has(sqlState(error));
}

/** Billing_unavailable when the database is in trouble or gone; anything else is a defect and stays as it is. */
export function ledgerError(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (!isConnectionError(error) && !SERVER_TROUBLE.test(sqlState(error))) return error;
  const message = "Billing cannot reach its database, so the outcome is not known; try again shortly.";
  return new ServiceError("billing_unavailable", message, { retryAfterMs: 1_000, cause: error });
}

function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}
