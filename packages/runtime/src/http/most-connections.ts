// mostConnections limits the connections of a port by the descriptors of the process. A request may need a second one
// (a file, a connection to a service or a provider), and databases, logs and files of our own need theirs.
import { readFileSync } from "node:fs";

/** Limit for any number of descriptors. */
const MOST = 20_000;
const RESERVE = 1_000;
const PER_CONNECTION = 2;

/** @param limits the text of /proc/self/limits; undefined where there is none */
export function mostConnections(limits: string | undefined): number {
  const descriptors = Number(/^Max open files +(\d+)/m.exec(limits ?? "")?.[1] ?? Number.NaN);
  if (Number.isNaN(descriptors)) return MOST;
  // With few descriptors, a quarter is reserved.
  const reserve = Math.min(RESERVE, Math.ceil(descriptors / 4));
  return Math.min(MOST, Math.floor((descriptors - reserve) / PER_CONNECTION));
}

/** Undefined on systems without /proc. */
export function readLimits(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return undefined;
  }
}
