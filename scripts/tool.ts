// This file runs a development tool of the workspace to its end, and keeps its output for the message of a failure.
import { spawn } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const BIN = join(ROOT, "node_modules", ".bin");
const KEPT_OUTPUT = 256 * 1024;

/** Failure of a tool; the message is the output of the tool. */
export class ToolError extends Error {}

/** @throws ToolError when the tool cannot be started or ends with another code than 0. */
export function runTool(command: string, args: readonly string[], cwd: string = ROOT): Promise<void> {
  // Tools start each other by name, as buf its plugins, and must find each other without a global installation.
  const path = [BIN, dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, PATH: path },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const keep = (chunk: Buffer) => {
      output = (output + chunk).slice(-KEPT_OUTPUT);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.once("error", (error) => reject(new ToolError(`${command} did not start: ${error.message}`)));
    child.once("close", (code) => (code === 0 ? resolve() : reject(new ToolError(output.trim()))));
  });
}
