// InputBudget computes how many bytes of request bodies the text proxy holds, from its share of the process's memory.
// A byte of a body needs BYTES_PER_BODY_BYTE of memory at the peak, so the budget is smaller than the share.
const MIB = 1024 * 1024;
/**
 * The body, its copy for the upstream, and the value while it is parsed; measured by memory.deep.test.ts.
 */
export const BYTES_PER_BODY_BYTE = 3;
/** One account may have three quarters, so the longest body of 20 MB fits. */
const LEAST_BYTES = 32 * MIB;
const MOST_BYTES = 512 * MIB;

/** @param shareBytes memory that the module may use */
export function inputBudgetOf(shareBytes: number): number {
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.floor(shareBytes / BYTES_PER_BODY_BYTE)));
}
