// This file owns the install lock: one bootstrap at a time installs into a clone. The lock file lists the working processes, one
// "pid start-time" per line: the bootstrap and its installers. The lock is held while any of them runs. So the next bootstrap
// waits for an installer that outlives a killed bootstrap, and replaces a lock without a running process.
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BootstrapError } from "./bootstrap-error.mjs";
import { note, TOOLS } from "./layout.mjs";

const LOCK = path.join(TOOLS, "lock");
const WAIT_MS = 10 * 60_000;
const POLL_MS = 200;
const SETTLE_MS = 150;
const WRITE_MS = 5_000;
const ABANDONED = Symbol("abandoned");

export async function withInstallLock(work) {
  // The option `recursive` would report a read-only file system as a missing folder.
  if (!existsSync(TOOLS)) mkdirSync(TOOLS);
  const mine = identify(process.pid);
  await acquire(mine);
  try {
    return await work();
  } finally {
    if (firstLine() === mine) rmSync(LOCK, { force: true });
  }
}

/** Adds an installer to the holders of the lock. */
export function recordInstaller(pid) {
  const identity = identify(pid);
  if (identity) appendFileSync(LOCK, `${identity}\n`);
}

async function acquire(mine) {
  const deadline = Date.now() + WAIT_MS;
  let waiting = false;
  while (!create(mine)) {
    const other = holder();
    if (other === ABANDONED && (await takeOver(mine))) return;
    if (other !== ABANDONED && other !== undefined && !waiting) {
      note(`waiting for another bootstrap of this clone (process ${Number.parseInt(other, 10)}).`);
      waiting = true;
    }
    if (Date.now() > deadline) {
      throw new BootstrapError(
        `another bootstrap of this clone has been installing for 10 minutes (${LOCK}).`,
      );
    }
    await sleep(POLL_MS);
  }
}

function create(mine) {
  try {
    writeFileSync(LOCK, `${mine}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** Replaces an abandoned lock. If several processes try at once, the last rename wins; each reads the lock before it continues. */
async function takeOver(mine) {
  const draft = `${LOCK}.${process.pid}`;
  writeFileSync(draft, `${mine}\n`);
  renameSync(draft, LOCK);
  await sleep(SETTLE_MS);
  return firstLine() === mine;
}

/** Returns a process that holds the lock, ABANDONED if all of them have ended, or undefined if this is not certain yet. */
function holder() {
  const lines = read().split("\n").filter(Boolean);
  if (lines.length > 0) return lines.find(isRunning) ?? ABANDONED;
  const stats = statSync(LOCK, { throwIfNoEntry: false });
  // The lock is created but empty: its process is about to write, or was killed before.
  return stats && Date.now() - stats.mtimeMs > WRITE_MS ? ABANDONED : undefined;
}

function firstLine() {
  return read().split("\n", 1)[0];
}

function read() {
  try {
    return readFileSync(LOCK, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
}

/**
 * Returns "pid start-time" of a running process, which distinguishes it from a later process with the same number.
 * Returns undefined if no process with this number runs. A zombie counts as ended.
 */
function identify(pid) {
  const start = existsSync("/proc/self/stat") ? startFromProc(pid) : startFromPs(pid);
  return start && `${pid} ${start}`;
}

function isRunning(identity) {
  return identify(Number.parseInt(identity, 10)) === identity;
}

function startFromProc(pid) {
  try {
    // The command name is in brackets and may have any text; the fields after it are plain.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return /[ZX]/.test(state) ? undefined : fields[18];
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return undefined;
    throw error;
  }
}

function startFromPs(pid) {
  const result = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" });
  const [state, ...start] = (result.stdout ?? "").trim().split(/\s+/);
  return !state || state.startsWith("Z") ? undefined : start.join("-");
}
