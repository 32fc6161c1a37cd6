// The processes of the bench: who runs where (the router and the yardsticks on core 0; upstream and load on core 1;
// PostgreSQL on both), and what each of them costs. Without taskset (macOS) everything floats, and the report says so;
// the costs are the kernel's figures, on Linux only.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export const ROUTER_CORE = "0";
export const LOAD_CORE = "1";

/** Pins a process; false where that is not possible. */
export function pin(pid: number, cores: string): boolean {
  return spawnSync("taskset", ["-a", "-p", "-c", cores, String(pid)], { stdio: "ignore" }).status === 0;
}

/** Command line that starts a program on a core, or as it is where pinning is not possible. */
export function onCore(core: string, command: string, args: readonly string[]): [string, string[]] {
  return canPin() ? ["taskset", ["-c", core, command, ...args]] : [command, [...args]];
}

export function canPin(): boolean {
  try {
    execFileSync("taskset", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    // No taskset on this system.
    return false;
  }
}

/** Clock ticks a second in /proc on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** CPU time of a process so far, user and system, in microseconds. Resolution 10 ms: measure over seconds. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_SECOND;
}

/** Resident memory in MB. */
export function residentMegabytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? Number.NaN) / 1024;
}
