// Programs that a cluster is made of: those that come to an end, and those that stay until they are stopped.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const SAID_LINES = 25;
const POLL_MS = 250;
const MUCH = 256 * 1024 * 1024;

/** Names of these programs, and their words. */
export type Command = readonly [program: string, ...args: string[]];

/** @returns what it printed @throws Error with what it said, unless it ended with 0 */
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
    // Whether it took all of it, its exit code says.
    child.stdin?.on("error", () => undefined).end(input ?? "");
  });
}

/** Waits until `probe` no longer throws. @throws Error with its last reason when the time is over */
export async function until<T>(what: string, seconds: number, probe: () => Promise<T>): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s: ${(error as Error).message}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

const tail = (text: string) => text.trim().split("\n").slice(-SAID_LINES).join("\n");

/** Programs that run until they are all stopped, in the reverse order of their start; each has a file for what it says. */
export class Daemons {
  readonly #logs: string;
  readonly #running: { name: string; child: ChildProcess; ended: Promise<void> }[] = [];
  #stopping = false;
  /** Of the first that ended without being told to. */
  readonly failure = Promise.withResolvers<never>();

  constructor(logs: string) {
    this.#logs = logs;
    // Whoever does not wait for it is not to fall over it.
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

  /** Whichever comes first: the work, or the end of a program that it needs. */
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
