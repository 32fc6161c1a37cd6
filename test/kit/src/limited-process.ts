// LimitedProcess runs an entry of the tests in a process of its own, with a memory limit. If this machine permits it, a
// control group enforces the limit. Otherwise the entry gets the limit, and the test compares the peak with it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const MIB = 1024 * 1024;
/** Groups of version 1 and of version 2, each with the file of the limit. */
const GROUPS = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes" },
  { root: "/sys/fs/cgroup", limit: "memory.max" },
] as const;

export interface LimitedProcess {
  readonly url: string;
  alive(): boolean;
  /** Peak of resident bytes. */
  peak(): number;
  stop(): Promise<void>;
}

export interface LimitedEntry {
  /** Path of a TypeScript file that sends its URL to the parent process, and ends when the channel closes. */
  readonly file: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly limitBytes: number;
}

/** Starts the entry with LIMITED_BYTES in its environment. Resolves when it serves. */
export async function startLimited({ file, env = {}, limitBytes }: LimitedEntry): Promise<LimitedProcess> {
  const group = createGroup(limitBytes);
  const heap = `--max-old-space-size=${Math.floor(limitBytes / 2 / MIB)}`;
  const node = [process.execPath, ...(group === undefined ? [heap] : []), file];
  const enter = `echo $$ > "$0" && exec "$@"`;
  const [command = "", ...args] =
    group === undefined ? node : ["sh", "-c", enter, join(group, "cgroup.procs"), ...node];
  const child: ChildProcess = spawn(command, args, {
    env: { ...process.env, ...env, LIMITED_BYTES: String(limitBytes) },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit").then(() => {
    if (group !== undefined) rmdirSync(group);
  });
  const [url] = (await Promise.race([
    once(child, "message"),
    exited.then(() => Promise.reject(new Error("the process ended before it served"))),
  ])) as [string];
  return {
    url,
    alive: () => child.exitCode === null && child.signalCode === null,
    peak: () =>
      Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) * 1024,
    stop: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** @returns the group's folder; undefined if none can be created */
function createGroup(limitBytes: number): string | undefined {
  for (const { root, limit } of GROUPS) {
    const folder = join(root, `generation-router-test-${process.pid}`);
    try {
      mkdirSync(folder);
    } catch {
      // Another version, or no permission.
      continue;
    }
    if (existsSync(join(folder, limit))) {
      writeFileSync(join(folder, limit), String(limitBytes));
      return folder;
    }
    rmdirSync(folder);
  }
  return undefined;
}
