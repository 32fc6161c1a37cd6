// A guarded process is a server that never outlives this process. A shell reads a pipe with its only writing end here.
// Any end of this process, even kill -9, closes the pipe. Then the shell stops the server, waits for it, and removes
// its temporary folders. Unlike a death signal, this works on every Unix. The server has its own group, out of reach of
// a Ctrl-C; this process stops it after its last use.
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { EmbeddedError } from "./embedded-error.ts";

const STOP_TIMEOUT_MS = 20_000;
const KEPT_OUTPUT = 16 * 1024;

// fd 3 is the pipe to this process, fd 4 reports the server's pid. After the end of this process nobody reads the
// shell's output, and printing would end the shell: hence /dev/null.
const GUARD = `
trap '' HUP INT TERM
signal=$1 scratch=$2 sockets=$3
shift 3
"$@" 3<&- 4>&- &
server=$!
echo "$server" >&4
exec 4>&-
( read -r _ <&3; kill -s "$signal" "$server" ) &
watch=$!
exec 3<&-
wait "$server"
code=$?
kill -s KILL "$watch" 2>/dev/null
rm -rf -- \${scratch:+"$scratch"} \${sockets:+"$sockets"}
exit "$code"
`;

export interface GuardedCommand {
  /** Names the server in messages. */
  readonly title: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Asks the server to end. */
  readonly stopSignal: "INT" | "TERM";
  /**
   * Output of a server that refuses new clients and waits for the last one to disconnect. It is then sent the stop
   * signal.
   */
  readonly lingers?: RegExp | undefined;
  /** Ends a server that did not obey within 20 s. */
  readonly lastSignal: NodeJS.Signals;
  /** Folders that are removed when the server has ended. */
  readonly scratch?: string | undefined;
  readonly sockets?: string | undefined;
}

export interface GuardedProcess {
  readonly pid: number;
  /** The last 16 KB that the server printed. */
  output(): string;
  /** Resolves when the server has ended, for any reason. */
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a server and waits until it prints `ready`.
 * @throws EmbeddedError if the server ends before, or is not ready in time; its message ends with the result of
 * `explain`
 */
export async function startGuarded(
  guarded: GuardedCommand,
  ready: { text: RegExp; timeoutMs: number; explain(output: string): string },
): Promise<GuardedProcess> {
  const { title, command, env, user, stopSignal, lingers, scratch = "", sockets = "" } = guarded;
  const child = spawn("/bin/sh", ["-c", GUARD, "guard", stopSignal, scratch, sockets, ...command], {
    cwd: "/",
    env,
    ...user,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
  });
  let output = "";
  const exited = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", () => resolve());
  });
  const becameReady = new Promise<void>((resolve) => {
    const keep = (chunk: Buffer) => {
      output = (output + chunk).slice(-KEPT_OUTPUT);
      if (ready.text.test(output)) resolve();
      if (lingers?.test(output) === true) hasten();
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
  });
  const pid = await readPid(child);
  let hastened = false;
  function hasten(): void {
    if (hastened || !isRunning(child)) return;
    hastened = true;
    process.kill(pid, `SIG${stopSignal}`);
  }
  const end = () => stop(child, exited, pid, guarded.lastSignal);
  const outcome = await firstOf(becameReady, exited, ready.timeoutMs);
  if (outcome === "ready") {
    release(child);
    return { pid, output: () => output, exited, stop: end };
  }
  await end();
  const reason = outcome === "late" ? `it was not ready within ${ready.timeoutMs} ms` : ready.explain(output);
  throw new EmbeddedError(`${title} did not start: ${reason}`);
}

function pipeOf(child: ChildProcess, fd: 1 | 2 | 3 | 4): Socket {
  const pipe = child.stdio[fd];
  if (pipe instanceof Socket) return pipe;
  throw new Error(`no pipe at fd ${fd}`);
}

function readPid(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const pipe = pipeOf(child, 4);
    let text = "";
    pipe.on("data", (chunk) => {
      text += chunk;
      if (text.endsWith("\n")) resolve(Number(text));
    });
    child.once("error", (error) => reject(new EmbeddedError(`/bin/sh cannot be run: ${error.message}.`)));
  });
}

async function firstOf(ready: Promise<void>, exited: Promise<void>, timeoutMs: number) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(resolve, timeoutMs, "late");
  });
  const outcome = await Promise.race([
    ready.then(() => "ready" as const),
    exited.then(() => "ended" as const),
    late,
  ]);
  clearTimeout(timer);
  return outcome;
}

/** Unreferences the server: a program without other work ends, and the server with it. */
function release(child: ChildProcess): void {
  child.unref();
  for (const fd of [1, 2, 3] as const) pipeOf(child, fd).unref();
}

/** Returns true if the guard runs; the server may outlive a killed guard. */
function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function stop(child: ChildProcess, exited: Promise<void>, pid: number, lastSignal: NodeJS.Signals) {
  child.ref();
  // The guard has not ended, so it has not reaped the server: the pid is still the server's.
  const overdue = setTimeout(() => isRunning(child) && process.kill(pid, lastSignal), STOP_TIMEOUT_MS);
  // After a killed guard, its inner shell still waits for this end of the pipe, and stops the server.
  pipeOf(child, 3).end();
  await exited;
  clearTimeout(overdue);
}
