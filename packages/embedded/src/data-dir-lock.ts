// One process per data directory. The lock is the kernel's own, on a file that SQLite opens exclusively: it ends
// with its holder, kill -9 included, so there are no stale locks to judge and no moment in which two can win.
// The pid beside it is for the message only.
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedError } from "./embedded-error.ts";
import { codeOf, messageOf } from "./error-code.ts";

const SQLITE_BUSY = 5;
/** A holder that has just been killed needs a moment to be gone. */
const PATIENCE_MS = 1_000;

/** Nobody else may look into it; the account that PostgreSQL gets from root must come through it. */
const MODE = process.getuid?.() === 0 ? 0o711 : 0o700;
const PARENT_MODE = 0o755;
/** Also in a directory that others may look into: whoever could read the lock could take it. */
const FILE_MODE = 0o600;

export interface DataDirLock {
  release(): Promise<void>;
}

/** Holders that somebody may have dropped: a collected handle would unlock the directory. */
const held = new Set<DatabaseSync>();

/** Makes the directory when it does not exist. @throws EmbeddedError when another process holds it. */
export async function lockDataDir(dir: string): Promise<DataDirLock> {
  const pidFile = join(dir, "lock.pid");
  try {
    await makeFolder(dir);
    const handle = await acquire(join(dir, "lock"));
    if (handle !== undefined) {
      held.add(handle);
      await writeFile(pidFile, `${process.pid}\n`, { mode: FILE_MODE });
      await chmod(pidFile, FILE_MODE);
      return { release: async () => void (held.delete(handle) && handle.close()) };
    }
  } catch (error) {
    const sentence = `The data directory ${dir} cannot be used: ${messageOf(error)}`;
    throw new EmbeddedError(`${sentence}; set DATA_DIR to a folder that can be written.`);
  }
  const holder = (await readFile(pidFile, "utf8")).trim();
  throw new EmbeddedError(
    `The data directory ${dir} is in use by process ${holder}; stop it, or set DATA_DIR to another folder.`,
  );
}

/** Node's own `recursive` tries for ever where a parent is there and takes no folders, as /proc. */
async function makeFolder(dir: string, mode: number = MODE): Promise<void> {
  try {
    await mkdir(dir, { mode });
  } catch (error) {
    const code = codeOf(error, "code");
    if (code === "EEXIST" && (await stat(dir)).isDirectory()) return;
    if (code !== "ENOENT" || dirname(dir) === dir) throw error;
    await makeFolder(dirname(dir), PARENT_MODE);
    await mkdir(dir, { mode });
  }
}

/** Undefined when another holds the lock. */
async function acquire(path: string): Promise<DatabaseSync | undefined> {
  const handle = new DatabaseSync(path);
  // Not by opening it once more: to close a file gives up all locks that the process has on it.
  await chmod(path, FILE_MODE);
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      handle.exec("BEGIN EXCLUSIVE");
      return handle;
    } catch (error) {
      const busy = codeOf(error, "errcode") === SQLITE_BUSY;
      if (!busy || Date.now() > deadline) handle.close();
      if (!busy) throw error;
      if (Date.now() > deadline) return undefined;
    }
    await sleep(50);
  }
}
