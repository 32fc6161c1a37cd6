// A child is a separate process that uses this package, for tests that kill the user of a server or of a lock.
import { spawn } from "node:child_process";

const PACKAGE = new URL("../index.ts", import.meta.url).href;

export interface Child {
  /** Line that the script printed. */
  readonly output: string;
  readonly pid: number;
  kill(): Promise<void>;
}

/** Runs a script in which `embedded` is this package; resolves when it has printed a line. */
export async function startChild(script: string): Promise<Child> {
  const source = `
    import * as embedded from ${JSON.stringify(PACKAGE)};
    setInterval(() => undefined, 60_000);
    ${script}`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const output = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      if (text.endsWith("\n")) resolve(text.trim());
    });
    void ended.then(() => reject(new Error("the child ended without a word")));
  });
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { output, pid: child.pid ?? 0, kill };
}
