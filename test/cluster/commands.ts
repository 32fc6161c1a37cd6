// This file runs the programs of a cluster: `run` waits for the end of a program, and `Daemons` keeps programs running until
// their stop.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const SAID_LINES = 25;
const POLL_MS = 250;
const MUCH = 256 * 1024 * 1024;

/** Name or path of a program, and its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/**
 * Runs a program to its end.
 * @returns its standard output
 * @throws Error with the last lines of its output, if the exit code is not 0
 */
export function run(
  [program, ...args]: Command,
  options: { env?: NodeJS.ProcessEnv; input?: string; cwd?: string; signal?: AbortSignal } = {},
): Promise<string> {
  const { input, ...rest } = options;
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { ...rest, maxBuffer: MUCH, encoding: "utf8" },
      (error, out, said) => {
        if (error === null) resolve(out);
        else
          reject(
            new Error(`${program} ${args.join(" ")} failed: ${tail(`${out}\n${said}`) || error.message}`),
          );
      },
    );
    // A program may end before it has read all of its input. Only its exit code decides, so a failed write is no error.
    child.stdin?.on("error", () => undefined).end(input ?? "");
  });
}

/** Repeats `probe` until it succeeds. @throws Error with the reason of the last failure, once the time is over */
export async function until<T>(what: string, seconds: number, probe: () => Promise<T>): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (Date.now() > end)
        throw new Error(`${what}: no success within ${seconds} s: ${(error as Error).message}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

const tail = (text: string) => text.trim().split("\n").slice(-SAID_LINES).join("\n");

/** Runs programs until `stop`, which ends them in the reverse order of their start. Each has a log file for its output. */
export class Daemons {
  readonly #logs: string;
  readonly #running: { name: string; child: ChildProcess; ended: Promise<void> }[] = [];
  #stopping = false;
  /** Rejection by the first program that ends before `stop`, or does not start. */
  readonly failure = Promise.withResolvers<never>();

  constructor(logs: string) {
    this.#logs = logs;
    // Without this handler Node would end the process, if a program fails while no caller waits for `failure`.
    this.failure.promise.catch(() => undefined);
  }

  start(name: string, [program, ...args]: Command, env: NodeJS.ProcessEnv = process.env): void {
    const log = openSync(join(this.#logs, `${name}.log`), "a");
    const child = spawn(program, args, { env, stdio: ["ignore", log, log] });
    const ended = new Promise<void>((resolve) => {
      child.once("error", (error) => {
        this.failure.reject(new Error(`${name} did not start: ${error.message}`));
        resolve();
      });
      child.once("exit", async (code, signal) => {
        resolve();
        if (this.#stopping) return;
        const said = tail(await readFile(join(this.#logs, `${name}.log`), "utf8"));
        this.failure.reject(new Error(`${name} ended with ${code ?? signal}:\n${said}`));
      });
    });
    this.#running.push({ name, child, ended });
  }

  /** Resolves with the result of the work. Rejects if a program ends before the work does. */
  during<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.failure.promise]);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const { child, ended } of this.#running.reverse()) {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(late);
    }
  }
}
