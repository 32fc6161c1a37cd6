// OperatorError has one clear sentence for the operator: printed without a stack, exit code 1.

export class OperatorError extends Error {
  override readonly name = "OperatorError";
}

/** Returns the operator's sentence for any error. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
