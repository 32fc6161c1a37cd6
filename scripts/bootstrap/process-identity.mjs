// Tells one process from a later one with the same number: "pid start-time". A zombie counts as ended.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** "pid start-time" of a running process, or undefined when there is none. */
export function identify(pid) {
  const start = existsSync("/proc/self/stat") ? startFromProc(pid) : startFromPs(pid);
  return start && `${pid} ${start}`;
}

export function isRunning(identity) {
  return identify(Number.parseInt(identity, 10)) === identity;
}

function startFromProc(pid) {
  try {
    // The command name is in brackets and may hold anything; the fields after it are plain.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return /[ZX]/.test(state) ? undefined : fields[18];
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return undefined;
    throw error;
  }
}

function startFromPs(pid) {
  const result = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" });
  const [state, ...start] = (result.stdout ?? "").trim().split(/\s+/);
  return !state || state.startsWith("Z") ? undefined : start.join("-");
}
