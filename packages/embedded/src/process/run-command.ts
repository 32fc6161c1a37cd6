// runCommand runs a short command to its end and returns its output.
import { type SpawnOptions, spawn } from "node:child_process";

export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

const KEPT_BYTES = 64 * 1024;

/** Never rejects: a command that cannot be started has code null and its reason as output. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const keep = (chunk: Buffer) => {
      output = (output + chunk).slice(-KEPT_BYTES);
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    child.once("error", (error) => resolve({ code: null, output: error.message }));
    child.once("close", (code) => resolve({ code, output }));
  });
}
