// Cost of a process so far, its processor time and memory. Both are read from outside, also while its event loop is
// blocked.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const TICK_MS = 10;
const KIB = 1024;

/** Milliseconds of processor time of all threads, in steps of 10. */
export async function processorTime(pid: number): Promise<number> {
  if (process.platform === "linux") {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may hold any text; the times are the 14th and 15th field.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }
  const { stdout } = await promisify(execFile)("ps", ["-o", "cputime=", "-p", String(pid)]);
  return stdout
    .trim()
    .split(":")
    .reduce((sum, part) => sum * 60 + Number(part) * 1000, 0);
}

/** Bytes of resident memory. */
export async function residentBytes(pid: number): Promise<number> {
  if (process.platform === "linux") {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * KIB;
  }
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) * KIB;
}

const ESTABLISHED = "01";

/** Counts open connections of a local port with answers in the kernel, unread by their clients. Linux only. */
export async function unreadConnections(port: number): Promise<number> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = (await readFile("/proc/net/tcp", "utf8")).split("\n").map((row) => row.trim().split(" "));
  return rows.filter(([, address, , state, queues]) => {
    const isUnread = queues !== undefined && Number.parseInt(queues, 16) > 0;
    return address?.endsWith(local) === true && state === ESTABLISHED && isUnread;
  }).length;
}
