// The processes under a launcher, by their program, so that tests can kill them: services by their name, and the
// embedded servers as `postgres` and `redis`.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

const SERVERS: readonly (readonly [name: string, command: RegExp])[] = [
  ["postgres", /^\S*postgres -D /],
  ["redis", /^\S*(redis|valkey)-server /],
];
const SERVICE = /\/([a-z-]+)\/src\/main\.ts$/;

/** Returns the pid of a service or embedded server. @throws Error if there is none */
export async function pidOf(launcher: number, name: string): Promise<number> {
  const all = await runningProcesses();
  const pid = descendants(all, launcher).find(({ command }) => nameOf(command) === name)?.pid;
  if (pid === undefined) throw new Error(`no ${name} runs under process ${launcher}`);
  return pid;
}

/** Kills by kill -9; returns the pid. */
export async function killProcess(launcher: number, name: string): Promise<number> {
  const pid = await pidOf(launcher, name);
  process.kill(pid, "SIGKILL");
  return pid;
}

function nameOf(command: string): string | undefined {
  const server = SERVERS.find(([, pattern]) => pattern.test(command));
  return server === undefined ? SERVICE.exec(command)?.[1] : server[0];
}

function descendants(all: readonly Running[], root: number): Running[] {
  const children = all.filter(({ parent }) => parent === root);
  return [...children, ...children.flatMap(({ pid }) => descendants(all, pid))];
}

async function runningProcesses(): Promise<Running[]> {
  if (process.platform !== "linux") return await listedByPs();
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const read = await Promise.all(pids.map((pid) => readProcess(pid).catch(() => undefined)));
  return read.filter((found) => found !== undefined);
}

/** Rejects if the process ends meanwhile. */
async function readProcess(pid: string): Promise<Running> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name in brackets may hold any text, brackets too.
  const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  const command = (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
  return { pid: Number(pid), parent, command };
}

async function listedByPs(): Promise<Running[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,command="]);
  return [...stdout.matchAll(/^ *(\d+) +(\d+) (.*)$/gm)].map(([, pid, parent, command = ""]) => ({
    pid: Number(pid),
    parent: Number(parent),
    command: command.trim(),
  }));
}
