// Process commands identify the program of a pid. Pids are reused, so a pid from a file proves nothing without its
// command.
import { readFileSync } from "node:fs";
import { codeOf } from "./error-code.ts";
import { runCommand } from "./run-command.ts";

/** The command line, words joined by blanks; undefined when no such process runs. A zombie does not run. */
export async function commandOf(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") return fromProc(pid);
  const { code, output } = await runCommand("ps", ["-p", String(pid), "-o", "command="], {});
  return code === 0 ? output.trim() : undefined;
}

function fromProc(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() || undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ESRCH") return undefined;
    throw error;
  }
}
