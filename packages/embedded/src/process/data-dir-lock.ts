// The data directory lock admits one process per directory. It is the kernel's own lock, on a file that SQLite opens
// exclusively, and ends with its holder, even by kill -9. So no lock is stale, and two processes never win. The pid
// beside it is for the message only.
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedError } from "./embedded-error.ts";
import { codeOf, messageOf } from "./error-code.ts";

const SQLITE_BUSY = 5;
/** Time for a killed holder to disappear. */
const PATIENCE_MS = 1_000;

/** Folder mode: closed to other users. PostgreSQL's account under root must pass through the folder. */
const MODE = process.getuid?.() === 0 ? 0o711 : 0o700;
const PARENT_MODE = 0o755;
/** File mode, even in a directory that others may read: a reader of the lock file could lock it. */
const FILE_MODE = 0o600;

export interface DataDirLock {
  release(): Promise<void>;
}

/** Handles of all locks. A garbage-collected handle would unlock its directory. */
const held = new Set<DatabaseSync>();

/** Locks the directory, and creates it if absent. @throws EmbeddedError if another process holds it */
export async function lockDataDir(dir: string): Promise<DataDirLock> {
  const pidFile = join(dir, "lock.pid");
  try {
    await createFolder(dir);
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

/**
 * Creates a folder and its parents. Node's own `recursive` never returns if a parent exists but accepts no folders, as
 * /proc.
 */
async function createFolder(dir: string, mode: number = MODE): Promise<void> {
  try {
    await mkdir(dir, { mode });
  } catch (error) {
    const code = codeOf(error, "code");
    if (code === "EEXIST" && (await stat(dir)).isDirectory()) return;
    if (code !== "ENOENT" || dirname(dir) === dir) throw error;
    await createFolder(dirname(dir), PARENT_MODE);
    await mkdir(dir, { mode });
  }
}

/** Undefined if another process holds the lock. */
async function acquire(path: string): Promise<DatabaseSync | undefined> {
  const handle = new DatabaseSync(path);
  // chmod by path, because closing a second handle of the file would release all locks of the process on it.
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
