// MemoryShares divides the memory of a process among its modules: each may buffer input up to its share. The shares add
// up to the usable memory of the process, for any number of modules. Only the runner has the list of modules, so no
// module computes its share itself.
import { type ProcessMemory, processMemory } from "./process-memory.ts";

const MIB = 1024 * 1024;
/** Bytes that a process needs before it buffers anything: code, the idle heap, connections. */
export const IDLE_BYTES = 192 * MIB;
/** Remaining part: garbage between two collections, and memory that the C library keeps. */
const USABLE_PERCENT = 85;

interface Sharing {
  readonly name: string;
  /** Relative to other modules; absent or 0 = it buffers nothing. */
  readonly memoryWeight?: number;
}

/** @returns bytes by the name of the module, for modules with a weight */
export function memoryShares(
  modules: readonly Sharing[],
  { totalBytes }: ProcessMemory = processMemory(),
): ReadonlyMap<string, number> {
  const usable = Math.max(0, (totalBytes / 100) * USABLE_PERCENT - IDLE_BYTES);
  const weights = modules.flatMap(({ name, memoryWeight = 0 }) =>
    memoryWeight > 0 ? [[name, memoryWeight] as const] : [],
  );
  const all = weights.reduce((sum, [, weight]) => sum + weight, 0);
  return new Map(weights.map(([name, weight]) => [name, Math.floor((usable * weight) / all)]));
}
