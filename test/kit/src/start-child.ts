// One of our processes beside a test, which may kill it: on ports of its own, awaited until it is ready, and ended with us.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { freePort } from "@gr/embedded";
import { until } from "./until.ts";
import { warmStart } from "./warm-start.ts";

const READY_TIMEOUT_MS = 300_000;

export interface TestChild {
  /** Of its internal HTTP port. */
  readonly url: string;
  readonly pid: number;
  alive(): boolean;
  /** SIGSTOP: it lives, but does nothing. */
  pause(): void;
  resume(): void;
  /** SIGKILL, then waits. */
  kill(): Promise<void>;
  /** SIGTERM, then waits; answers the exit code. */
  stop(): Promise<number | null>;
}

/**
 * @param entry path of the source file that it runs
 * @param env all that it knows; its RPC port is any that is free unless this names one
 * @param httpPort a free one when not given
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
    // The channel ends the child with us, whatever ends us.
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
