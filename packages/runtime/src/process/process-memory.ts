// Bytes of memory that this process may really use: those of its control group (v1 or v2), or else of the machine.
// Byte budgets are shares of them, because a constant fits one size of container only.
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

export interface ProcessMemory {
  /** Bytes of everything: heap, buffers, stacks. */
  readonly totalBytes: number;
  /** Bytes of the JavaScript heap, as `--max-old-space-size` or V8 bounds it; at most `totalBytes`. */
  readonly heapBytes: number;
}

export interface MemoryReadings {
  /** Bytes; 0, or more than the machine has, where no control group sets a limit. */
  readonly constrained: number;
  readonly machine: number;
  readonly heap: number;
}

function readMemory(): MemoryReadings {
  return {
    constrained: process.constrainedMemory(),
    machine: totalmem(),
    heap: getHeapStatistics().heap_size_limit,
  };
}

/** Returns the limits of this process. @param readings replaces the machine in tests */
export function processMemory(readings: MemoryReadings = readMemory()): ProcessMemory {
  const { constrained, machine, heap } = readings;
  const totalBytes = constrained > 0 ? Math.min(constrained, machine) : machine;
  return { totalBytes, heapBytes: Math.min(heap, totalBytes) };
}
