// MemoryBudget computes the limits of input and output in memory, from the module's share of the process's memory.
// Two thirds are for clients' pictures, which can arrive at any rate; one third is for the providers' pictures.
const MIB = 1024 * 1024;
/** Peak bytes of memory per byte of input: the bytes, and a picture that is drawn again. */
export const BYTES_PER_INPUT_BYTE = 2;
/** Bytes of memory for the pictures of one generation. */
export const BYTES_PER_PLACE = 8 * MIB;
const INPUT_PARTS = 2;
const ALL_PARTS = 3;
/** An account may use three quarters, so a JSON body of 50 MB fits. */
const LEAST_INPUT_BYTES = 72 * MIB;
const MOST_INPUT_BYTES = 512 * MIB;
const LEAST_PLACES = 4;
const MOST_PLACES = 64;

export interface MemoryBudget {
  readonly inputBytes: number;
  readonly places: number;
}

/** @param shareBytes memory that the module may use */
export function memoryBudgetOf(shareBytes: number): MemoryBudget {
  const input = (shareBytes * INPUT_PARTS) / ALL_PARTS;
  return {
    inputBytes: within(input / BYTES_PER_INPUT_BYTE, LEAST_INPUT_BYTES, MOST_INPUT_BYTES),
    places: within((shareBytes - input) / BYTES_PER_PLACE, LEAST_PLACES, MOST_PLACES),
  };
}

function within(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.floor(value)));
}
