// Bytes of memory that this process may really use: those of its control group (v1 or v2), or else of the machine.
// Byte budgets are shares of them, because a constant fits one size of container only. The memory of unreachable objects is returned
// while the process is quiet, because V8 collects only while it allocates.
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** V8 collects after 64 MB of new buffers. Without a write, this one uses addresses and no memory. */
const NOTICED_BYTES = 128 * 1024 * 1024;
/** Collections in a row. One that has begun before the end of an object keeps it, so the next one follows. */
export const COLLECTIONS = 2;
export const QUIET_MS = 2_000;
/** Bytes of new objects in that time, up to which a process counts as quiet. */
const QUIET_BYTES = 2 * 1024 * 1024;
/** Bytes of unreachable objects that are worth a collection. */
export const WORTH_COLLECTING = 32 * 1024 * 1024;

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

/** Collects unreachable objects and buffers. The process stops meanwhile: 50 to 130 ms with 120 to 300 MB of reachable objects. */
export function startCollection(): void {
  try {
    new ArrayBuffer(NOTICED_BYTES);
  } catch (error) {
    // The addresses of this process are limited (`ulimit -v`). It collects when it allocates.
    if (!(error instanceof RangeError)) throw error;
  }
}

/** Collects when the objects of a quiet process use more memory than after the collection before. */
export function collectWhenQuiet(): void {
  let [least, before, collections] = [Number.POSITIVE_INFINITY, 0, 0];
  const look = () => {
    const { used_heap_size: used } = getHeapStatistics();
    const isQuiet = used - before < QUIET_BYTES;
    before = used;
    least = Math.min(least, used);
    if (!isQuiet) return;
    if (used - least > WORTH_COLLECTING && collections < COLLECTIONS) {
      collections += 1;
      startCollection();
    } else {
      // The remaining objects are reachable.
      if (collections === COLLECTIONS) least = used;
      collections = 0;
    }
  };
  setInterval(look, QUIET_MS).unref();
}
