// Who runs where: the router and the yardsticks on core 0; upstream and load on core 1; PostgreSQL on both.
// Without taskset (macOS) everything floats, and the report says so.
import { execFileSync, spawnSync } from "node:child_process";

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
