// A postmaster is a server of an earlier process that may still run on a cluster; postmaster.pid names it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedError } from "../process/embedded-error.ts";
import { codeOf } from "../process/error-code.ts";
import { commandOf } from "../process/process-command.ts";

const STOP_TIMEOUT_MS = 20_000;

/**
 * Shuts down a server that still runs on the cluster.
 * @returns the pid in the pid file if its process is dead, a zombie, or another program. The next server must ignore
 * this pid (`PG_GRANDPARENT_PID`, as pg_ctl does). Removing the file instead would also remove PostgreSQL's own guard
 * against living backends.
 */
export async function endPreviousServer(cluster: string): Promise<number | undefined> {
  const pid = await recordedPid(cluster);
  if (pid === undefined || !(await serves(pid, cluster))) return pid;
  process.kill(pid, "SIGINT");
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (await serves(pid, cluster)) {
    if (Date.now() > deadline) {
      throw new EmbeddedError(
        `An earlier PostgreSQL (process ${pid}) on ${cluster} does not stop: end it first.`,
      );
    }
    await sleep(20);
  }
  return pid;
}

async function recordedPid(cluster: string): Promise<number | undefined> {
  try {
    const pid = Number.parseInt(await readFile(join(cluster, "postmaster.pid"), "utf8"), 10);
    return pid > 1 ? pid : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns true if the process is the server that we start on this cluster, by its exact command line. */
async function serves(pid: number, cluster: string): Promise<boolean> {
  return (await commandOf(pid))?.includes(`postgres -D ${cluster} -c `) === true;
}
