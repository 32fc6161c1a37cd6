// A service process is one service as a child process: started, watched, restarted with backoff, stopped gracefully.
// Its channel closes with any end of this process, and the child stops then: no process remains.
import { type ChildProcess, spawn } from "node:child_process";
import { type Environment, OperatorError } from "@gr/runtime";
import { request } from "undici";

const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 50;
/** Longer than a process needs to end by itself, after the time for its running requests. */
const KILL_LATER_MS = 15_000;
const RESTART_FIRST_MS = 100;
const RESTART_MAX_MS = 5_000;
/** A child that lived this long had a good start; its next restart is quick again. */
const STEADY_MS = 30_000;

export interface ServiceProcess {
  /** Changes when the service is restarted. */
  pid(): number | undefined;
  stop(): Promise<void>;
}

export interface ServiceProcessOptions {
  readonly name: string;
  readonly entry: string;
  readonly env: Environment;
  /** Answers 200 when the service can serve. */
  readonly readyUrl: string;
  /** Longest time for running requests after a stop request, in milliseconds. */
  readonly stopGraceMs: number;
}

/** @throws OperatorError when the service does not become ready. */
export async function startServiceProcess(options: ServiceProcessOptions): Promise<ServiceProcess> {
  let child = launch(options);
  let stopping = false;
  let restartDelay = RESTART_FIRST_MS;
  let startedAt = Date.now();
  let restart: NodeJS.Timeout | undefined;

  const revive = (code: number | null, signal: string | null): void => {
    if (stopping) return;
    if (Date.now() - startedAt > STEADY_MS) restartDelay = RESTART_FIRST_MS;
    process.stderr.write(`${options.name} ended (${signal ?? `exit ${code}`}); starting it again.\n`);
    restart = setTimeout(() => {
      startedAt = Date.now();
      child = launch(options);
      child.once("exit", revive);
    }, restartDelay);
    restartDelay = Math.min(restartDelay * 2, RESTART_MAX_MS);
  };
  const stop = async (): Promise<void> => {
    stopping = true;
    clearTimeout(restart);
    await end(child, options.stopGraceMs + KILL_LATER_MS);
  };
  try {
    await ready(options, child);
  } catch (error) {
    await stop();
    throw error;
  }
  child.once("exit", revive);
  return { pid: () => child.pid, stop };
}

function launch({ entry, env }: ServiceProcessOptions): ChildProcess {
  return spawn(process.execPath, [entry], {
    env: { ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // A group of its own: Ctrl-C reaches the launcher only, which stops the services in the right order.
    detached: true,
  });
}

async function ready({ name, readyUrl }: ServiceProcessOptions, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let last = "it did not answer";
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new OperatorError(`The ${name} service ended while it was starting; see its message above.`);
    }
    try {
      const response = await request(readyUrl, { headersTimeout: 2_000 });
      const body = (await response.body.json()) as { problems?: string[] };
      if (response.statusCode === 200) return;
      last = body.problems?.join("; ") ?? last;
    } catch (error) {
      last = (error as Error).message;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new OperatorError(`The ${name} service did not become ready within 30 s: ${last}.`);
}

function end(child: ChildProcess, withinMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const kill = setTimeout(() => child.kill("SIGKILL"), withinMs);
    child.once("exit", () => {
      clearTimeout(kill);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
