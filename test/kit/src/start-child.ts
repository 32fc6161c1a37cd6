// One of our processes beside a test, which may kill it: on ports of its own, awaited until it is ready, and ended with
// the test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { freePort } from "@gr/embedded";
import { until } from "./until.ts";
import { warmStart } from "./warm-start.ts";

const READY_TIMEOUT_MS = 300_000;

export interface TestChild {
  /** Address of its internal HTTP port. */
  readonly url: string;
  readonly pid: number;
  alive(): boolean;
  /** Sends SIGSTOP: the process lives, but does nothing. */
  pause(): void;
  resume(): void;
  /** Sends SIGKILL, then waits. */
  kill(): Promise<void>;
  /** Sends SIGTERM, then waits; returns the exit code. */
  stop(): Promise<number | null>;
}

/**
 * @param entry path of the source file that it runs
 * @param env its whole environment; its RPC port is any free one unless this names one
 * @param httpPort by default a free one
 */
export async function startChild(
  entry: string,
  env: Readonly<Record<string, string>>,
  httpPort?: number,
): Promise<TestChild> {
  const port = String(httpPort ?? (await freePort()));
  const url = `http://127.0.0.1:${port}`;
  const child: ChildProcess = spawn(process.execPath, [entry], {
    env: { ...warmStart(), SERVICE_RPC_PORT: "0", ...env, SERVICE_HTTP_PORT: port },
    // The channel ends the child with this process, in every case.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
  const kill = async () => void (await end("SIGKILL"));
  try {
    await until(async () => (await fetch(`${url}/readyz`)).ok, { timeoutMs: READY_TIMEOUT_MS });
  } catch (error) {
    await kill();
    throw error;
  }
  return {
    url,
    pid: child.pid ?? 0,
    alive: () => child.exitCode === null && child.signalCode === null,
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    kill,
    stop: () => end("SIGTERM"),
  };
}
