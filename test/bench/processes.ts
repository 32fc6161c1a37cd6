// The processes of the bench, their cores and their costs. The router and the yardsticks are on core 0, upstream and
// load on core 1, PostgreSQL on both. Without taskset (macOS) no process is pinned, and the report notes it. The costs
// are the kernel's figures, on Linux only.
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

export const ROUTER_CORE = "0";
export const LOAD_CORE = "1";

/** Pins a process; false if the system cannot. */
export function pin(pid: number, cores: string): boolean {
  return spawnSync("taskset", ["-a", "-p", "-c", cores, String(pid)], { stdio: "ignore" }).status === 0;
}

/** Returns the command line that starts a program on a core, or unchanged if pinning is not possible. */
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
  const fields = statOf(pid);
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_SECOND;
}

/** CPU time of a process and of all below it, including ended ones. */
export function cpuMicrosOfTree(pid: number): number {
  const fields = statOf(pid);
  const ended = ((Number(fields[13]) + Number(fields[14])) * 1_000_000) / TICKS_PER_SECOND;
  return childrenOf(pid).reduce((sum, child) => sum + microsUnlessEnded(child), cpuMicros(pid) + ended);
}

/** Returns 0 for a process that has ended since its parent was read: from then on, its parent counts its time. */
function microsUnlessEnded(pid: number): number {
  try {
    return cpuMicrosOfTree(pid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}

/** CPU time of a process and of all below it that run Node: of a router in several processes, without its Redis. */
export function cpuMicrosUnder(pid: number): number {
  return childrenOf(pid)
    .filter(runsNode)
    .reduce((sum, child) => sum + cpuMicrosUnder(child), cpuMicros(pid));
}

function childrenOf(pid: number): number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((one) => isTrueOf(() => Number(statOf(one)[1]) === pid));
}

function runsNode(pid: number): boolean {
  return isTrueOf(
    () => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0]?.endsWith("node") === true,
  );
}

/** False for a process that has ended meanwhile. */
function isTrueOf(question: () => boolean): boolean {
  try {
    return question();
  } catch {
    return false;
  }
}

/** The fields after the name, which may have blanks in it. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Resident memory in MB. */
export function residentMegabytes(pid: number): number {
  return megabytesOf(pid, /^VmRSS:\s+(\d+) kB$/m);
}

/** Peak of the resident memory since its start, or since the last reset. */
export function peakMegabytes(pid: number): number {
  return megabytesOf(pid, /^VmHWM:\s+(\d+) kB$/m);
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function megabytesOf(pid: number, line: RegExp): number {
  const found = line.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(found?.[1] ?? Number.NaN) / 1024;
}
