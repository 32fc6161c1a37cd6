// Commands for tests: each runs in the process of its test, and its output is collected. No program imports this door.
import type { Environment } from "@gr/runtime";
import { runCli } from "./run-cli.ts";

export interface CliOutcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function runWith(env: Environment, ...args: string[]): Promise<CliOutcome> {
  let out = "";
  let err = "";
  const code = await runCli(args, {
    env,
    stdout: (text) => {
      out += text;
    },
    stderr: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}
