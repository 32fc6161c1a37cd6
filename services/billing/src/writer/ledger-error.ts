// What a failure of PostgreSQL means to a caller of billing.
import { ServiceError } from "@gr/proto";
import { isServerTrouble, sqlStateOf } from "@gr/runtime";
import { invalid } from "../rpc/field-rules.ts";

/** Errors after which the same transaction may succeed: serialization failure, deadlock. */
const WORTH_ANOTHER_TRY = new Set(["40001", "40P01"]);

export function isWorthAnotherTry(error: unknown): boolean {
  return WORTH_ANOTHER_TRY.has(sqlStateOf(error) ?? "");
}

/** Numeric value out of range: a sum of an account or a spender would not fit into 64 bits. */
const OUT_OF_RANGE = "22003";

/**
 * Billing_unavailable when the database is in trouble or gone, invalid_value when a sum would get too large; anything else is
 * a defect and stays as it is.
 */
export function ledgerError(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (sqlStateOf(error) === OUT_OF_RANGE) {
    return invalid("operations", "An amount makes a sum of its account too large to be kept");
  }
  if (!isServerTrouble(error)) return error;
  const message = "Billing cannot reach its database, so the outcome is not known; try again shortly.";
  return new ServiceError("billing_unavailable", message, { retryAfterMs: 1_000, cause: error });
}

/** @throws ledgerError of a failure */
export async function reaching<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw ledgerError(error);
  });
}
