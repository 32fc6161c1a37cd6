// Which process a pid means: pids are reused, so a pid alone proves nothing. Zombies count as dead.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; differs between two processes that had the same pid. */
  readonly startedAt: string;
}

/** Undefined when no such process runs. */
export function identify(pid: number): ProcessIdentity | undefined {
  const startedAt = process.platform === "linux" ? linuxStart(pid) : ps(pid, "lstart");
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** The command line of a running process; undefined when there is none. */
export function commandOf(pid: number): string | undefined {
  if (identify(pid) === undefined) return undefined;
  if (process.platform !== "linux") return ps(pid, "command");
  return readIfThere(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ");
}

function linuxStart(pid: number): string | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  return state === "Z" || state === "X" ? undefined : fields[19];
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended: its files are gone.
    return undefined;
  }
}

function ps(pid: number, column: string): string | undefined {
  const { status, stdout } = spawnSync("ps", ["-p", String(pid), "-o", `${column}=`], { encoding: "utf8" });
  return status === 0 && stdout.trim() !== "" ? stdout.trim() : undefined;
}
